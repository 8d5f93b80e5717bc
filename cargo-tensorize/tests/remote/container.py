"""Makes a container in Azurite: URL ACCOUNT KEY NAME. Its request is signed as Azure wants it ("Shared Key")."""

import base64
import email.utils
import hashlib
import hmac
import http.client
import sys

address, account, key, name = sys.argv[1:]
date, version = email.utils.formatdate(usegmt=True), "2021-08-06"
text = "PUT" + "\n" * 12 + f"x-ms-date:{date}\nx-ms-version:{version}\n/{account}/{account}/{name}\nrestype:container"
signature = hmac.new(base64.b64decode(key), text.encode(), hashlib.sha256).digest()
connection = http.client.HTTPConnection(address)
connection.request(
    "PUT",
    f"/{account}/{name}?restype=container",
    headers={
        "Content-Length": "0",
        "x-ms-date": date,
        "x-ms-version": version,
        "Authorization": f"SharedKey {account}:{base64.b64encode(signature).decode()}",
    },
)
answer = connection.getresponse()
assert answer.status == 201, (answer.status, answer.read())

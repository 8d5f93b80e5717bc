"""A folder behind TLS, by GET and PUT: PORT FOLDER. Writes its certificates there before it listens: `ours.pem` is what it
shows, and signs itself; `other.pem` is one of the same name that it does not have."""

import datetime
import http.server
import ipaddress
import os
import ssl
import sys

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

port, folder = int(sys.argv[1]), sys.argv[2]


def certificate(name):
    key = ec.generate_private_key(ec.SECP256R1())
    who = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "results")])
    now = datetime.datetime.now(datetime.timezone.utc)
    made = (
        x509.CertificateBuilder()
        .subject_name(who)
        .issuer_name(who)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )
    paths = [os.path.join(folder, f"{name}.{ending}") for ending in ("pem", "key")]
    pem = serialization.Encoding.PEM
    secret = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    for path, data in zip(paths, (made.public_bytes(pem), secret)):
        with open(path, "wb") as out:
            out.write(data)
    return paths


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    entries = {}

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        if status == 200:
            self.send_header("Last-Modified", self.date_time_string())
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        found = self.entries.get(self.path)
        self.answer(404) if found is None else self.answer(200, found)

    def do_PUT(self):
        self.entries[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self.answer(201)

    def log_message(self, *_):
        pass


ours, secret = certificate("ours")
certificate("other")
context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
context.load_cert_chain(ours, secret)
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
server.serve_forever()

"""gcp-storage-emulator with a bucket `team`, on the port that is named. It leaves out two headers that Google's store always
sends and that clients insist on: they are added."""

import email.utils
import sys
import threading

from gcp_storage_emulator import server


class Handler(server.RequestHandler):
    def end_headers(self):
        self.send_header("ETag", '"1"')
        self.send_header("Last-Modified", email.utils.formatdate(usegmt=True))
        super().end_headers()


server.RequestHandler = Handler
server.create_server("127.0.0.1", int(sys.argv[1]), in_memory=True, default_bucket="team").start()
threading.Event().wait()

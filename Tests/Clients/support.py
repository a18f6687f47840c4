"""What the tests of other people's clients share: the server's address, and a database of one's own for each test."""
import faulthandler
import json
import os
import time
import unittest
import urllib.error
import urllib.request
import uuid

# Whatever hangs ends the run, and says where.
faulthandler.dump_traceback_later(300, exit=True)
HOST = os.environ["CONIFER_HOST"]
"""`host:port` of a running `conifer serve` without rules."""
GRPC = os.environ.get("CONIFER_GRPC")
"""`host:port` of its gRPC; none when it has none."""
OWNER = {"Authorization": "Bearer owner"}
RULES = {
    "rules": {
        "public": {".read": True, ".write": "newData.hasChildren(['name'])", ".indexOn": ["name"]},
        "scores": {".read": True, ".indexOn": ".value"},
        "users": {
            "$uid": {
                ".read": "auth.uid == $uid",
                ".write": "auth != null && auth.uid == $uid",
                "age": {".validate": "newData.isNumber() && newData.val() >= 0"},
            }
        },
        "editors": {".read": "auth.editor == true", ".write": "false"},
    }
}
"""Rules with a variable, `auth`, a string for a truth, a validation and indexes."""


class ClientTest(unittest.TestCase):
    """A test with an empty database, whose name is `self.namespace`."""

    def setUp(self):
        self.namespace = "t-" + uuid.uuid4().hex[:20]

    def request(self, method, path, body=None, headers=None):
        """Asks without a client in between; gives status, headers and the body's JSON."""
        separator = "&" if "?" in path else "?"
        url = f"http://{HOST}{path}{separator}ns={self.namespace}"
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(url, data, headers or {}, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                return answer.status, answer.headers, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.headers, json.loads(error.read() or b"null")

    def set_rules(self, rules=None):
        status, _, answer = self.request("PUT", "/.settings/rules.json", rules or RULES, OWNER)
        self.assertEqual((status, answer), (200, {"status": "ok"}))

    def wait_for(self, condition, what):
        """Waits until something holds; fails when it does not within 20 seconds."""
        end = time.monotonic() + 20
        while not condition():
            if time.monotonic() > end:
                self.fail(f"It did not happen: {what()}")
            time.sleep(0.005)

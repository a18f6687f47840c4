"""The package pyrebase4 against `conifer serve`, and its default database, as it names none."""
import base64
import json
import unittest
import uuid

import pyrebase
import requests

import support


def token(**claims):
    """A token that nobody signed, as emulators take it."""
    parts = [{"alg": "none", "typ": "JWT"}, claims]
    text = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=").decode() for part in parts]
    return ".".join(text) + "."


class PyrebaseTest(support.ClientTest):
    """A test below a child of the default database that is its own."""

    def setUp(self):
        super().setUp()
        self.namespace = "default"
        self.root = "t-" + uuid.uuid4().hex[:20]
        self.db = pyrebase.initialize_app({
            "apiKey": "none", "authDomain": "none", "storageBucket": "none",
            "databaseURL": f"http://{support.HOST}",
        }).database()

    def at(self, *path):
        return self.db.child(self.root, *path)


class DataTests(PyrebaseTest):
    def test_set_get_update_remove(self):
        self.assertEqual(self.at("users", "ada").set({"name": "Ada", "é": [1, 2]}), {"name": "Ada", "é": [1, 2]})
        self.assertEqual(self.at("users", "ada").update({"born": 1815}), {"born": 1815})
        self.assertEqual(dict(self.at("users", "ada").get().val()), {"born": 1815, "name": "Ada", "é": [1, 2]})
        self.assertEqual(self.at("users").get().key(), "users")
        self.assertEqual([user.key() for user in self.at("users").get().each()], ["ada"])
        self.assertIsNone(self.at("users", "ada").remove())
        self.assertIsNone(self.at("users").get().val())

    def test_update_of_several_places(self):
        self.assertEqual(self.at().update({"a/x": 1, "b/y": 2}), {"a/x": 1, "b/y": 2})
        self.assertEqual(self.at("b", "y").get().val(), 2)

    def test_push(self):
        first = self.at("list").push({"n": 1})["name"]
        second = self.at("list").push({"n": 2})["name"]
        self.assertLess(first, second)
        self.assertEqual(list(self.at("list").get().val()), [first, second])
        self.assertEqual(list(self.at("list").shallow().get().val()), [first, second])
        key = self.db.generate_key()
        self.at("list", key).set({"n": 3})
        self.assertEqual(self.at("list", key, "n").get().val(), 3)

    def test_lists(self):
        self.at("list").set(["a", "b"])
        self.assertEqual(self.at("list").get().val(), ["a", "b"])

    def test_conditional_writes(self):
        known = self.at("n").get_etag()
        self.assertEqual(known, {"ETag": "null_etag", "value": None})
        self.assertEqual(self.at("n").conditional_set(1, known["ETag"]), 1)
        stale = self.at("n").conditional_set(2, known["ETag"])
        self.assertEqual(stale["value"], 1)
        self.assertEqual(self.at("n").conditional_remove("wrong"), stale)
        self.assertIsNone(self.at("n").conditional_remove(stale["ETag"]))
        self.assertIsNone(self.at("n").get().val())

    def test_errors_have_their_words(self):
        with self.assertRaises(requests.exceptions.HTTPError) as caught:
            self.at("a.b").set(1)
        self.assertIn("Invalid path", str(caught.exception))


class QueryTests(PyrebaseTest):
    def setUp(self):
        super().setUp()
        self.at("users").set({
            "ada": {"name": "B", "born": 1815, "on": True}, "bob": {"name": "A", "born": 1900, "on": False},
            "cy": {"name": "C", "born": 1850, "on": True},
        })
        self.at("scores").set({"a": 3, "b": 1, "c": 2})

    def test_queries(self):
        users = lambda: self.at("users").order_by_child  # noqa: E731
        # One object holds the path and the query that is being built, so that each is asked at once.
        self.assertEqual(list(users()("born").start_at(1850).limit_to_first(1).get().val()), ["cy"])
        self.assertEqual(list(users()("born").limit_to_last(2).get().val()), ["cy", "bob"])
        self.assertEqual(list(users()("name").equal_to("A").get().val()), ["bob"])
        self.assertEqual(list(users()("on").equal_to(True).get().val()), ["ada", "cy"])
        self.assertEqual(list(users()("born").start_at(1800).end_at(1860).get().val()), ["ada", "cy"])
        self.assertEqual(list(self.at("users").order_by_key().start_at("b").get().val()), ["bob", "cy"])
        self.assertEqual(list(self.at("users").order_by_key().limit_to_first(1).get().val()), ["ada"])
        self.assertEqual(list(self.at("scores").order_by_value().limit_to_last(2).get().val()), ["c", "a"])


class StreamTests(PyrebaseTest):
    def test_stream(self):
        events = []
        stream = self.at("users").stream(events.append, stream_id="s")
        self.addCleanup(self.close, stream)
        self.wait_for(lambda: len(events) >= 1, lambda: events)
        self.at("users", "ada").set({"n": 1})
        self.at("users", "ada").update({"n": 2})
        self.at("users").remove()
        self.wait_for(lambda: len(events) >= 4, lambda: events)
        self.assertEqual(
            [(event["event"], event["path"], event["data"], event["stream_id"]) for event in events],
            [
                ("put", "/", None, "s"), ("put", "/ada", {"n": 1}, "s"), ("patch", "/ada", {"n": 2}, "s"),
                ("put", "/", None, "s"),
            ])

    @staticmethod
    def close(stream):
        # Its own `close` knows an older urllib3's insides, and raises.
        stream.sse.should_connect = False
        stream.sse.retry = 0
        stream.sse.resp.raw.close()


class TokenTests(PyrebaseTest):
    """Users' tokens, in a database with rules that the host names."""

    def setUp(self):
        super().setUp()
        self.namespace = "t-" + uuid.uuid4().hex[:20]
        self.set_rules()
        # The client names no database but by its URL, and keeps headers of its session.
        self.db.requests.headers["Host"] = f"{self.namespace}.db.localhost"

    def test_tokens_and_rules(self):
        ada = token(sub="ada")
        self.db.child("users", "ada").set({"age": 3}, ada)
        self.assertEqual(self.db.child("users", "ada", "age").get(ada).val(), 3)
        self.assertEqual(self.db.child("users", "ada").update({"age": 4}, ada), {"age": 4})
        for call, arguments in [("get", ()), ("set", (1,)), ("push", (1,)), ("update", ({"a": 1},)), ("remove", ())]:
            for who in [None, token(sub="bob")]:
                with self.assertRaises(requests.exceptions.HTTPError, msg=call) as caught:
                    getattr(self.db.child("users", "ada"), call)(*arguments, who)
                self.assertIn("Permission denied", str(caught.exception))
        with self.assertRaises(requests.exceptions.HTTPError) as caught:
            self.db.child("public").get(token(sub="ada", exp=1))
        self.assertIn("expired", str(caught.exception))


if __name__ == "__main__":
    unittest.main()

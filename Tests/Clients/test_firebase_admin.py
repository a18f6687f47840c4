"""The package firebase-admin against `conifer serve`."""
import collections
import os
import threading
import time
import unittest

import support

os.environ["FIREBASE_DATABASE_EMULATOR_HOST"] = support.HOST

import firebase_admin  # noqa: E402
from firebase_admin import db, exceptions  # noqa: E402


class AdminTest(support.ClientTest):
    """A test with an administrator's app."""

    def setUp(self):
        super().setUp()
        self.app = self.make_app()

    def make_app(self, **options):
        url = f"https://{self.namespace}.firebaseio.com"
        name = f"{self.namespace}-{len(firebase_admin._apps)}"
        app = firebase_admin.initialize_app(None, {"databaseURL": url, **options}, name)
        self.addCleanup(firebase_admin.delete_app, app)
        return app

    def ref(self, path="/", app=None):
        return db.reference(path, app or self.app)


class DataTests(AdminTest):
    def test_set_and_get(self):
        values = [
            "text", "", "é😀\n\"\\", 0, -1, 1.5, 1e300, 2**53, 2**63 - 1, -(2**63), True, False,
            {"a": {"b": {"c": 1}}, "d": [1, 2, 3]}, [True, "x", {"y": 2}],
        ]
        for number, value in enumerate(values):
            ref = self.ref(f"values/v{number}")
            ref.set(value)
            self.assertEqual(ref.get(), value)
            self.assertIs(type(ref.get()), type(value))
        self.assertIsNone(self.ref("none").get())

    def test_values_that_are_nothing(self):
        ref = self.ref("a")
        ref.set({"x": None, "y": {}, "z": [], "w": 1})
        self.assertEqual(ref.get(), {"w": 1})
        ref.set({"x": {}})
        self.assertIsNone(ref.get())

    def test_arrays_are_maps_with_holes(self):
        ref = self.ref("list")
        ref.set(["a", "b", "c", "d"])
        ref.child("1").delete()
        self.assertEqual(ref.get(), ["a", None, "c", "d"])
        ref.child("0").delete()
        ref.child("2").delete()
        self.assertEqual(ref.get(), {"3": "d"})

    def test_update(self):
        ref = self.ref("users/ada")
        ref.set({"name": "Ada", "born": 1800, "temp": True})
        ref.update({"born": 1815, "temp": None, "meta/k": [1]})
        self.assertEqual(ref.get(), {"name": "Ada", "born": 1815, "meta": {"k": [1]}})
        self.ref().update({"users/ada/name": "A", "users/bob": {"name": "B"}})
        self.assertEqual(ref.child("name").get(), "A")
        self.assertEqual(self.ref("users/bob").get(), {"name": "B"})
        with self.assertRaises(exceptions.InvalidArgumentError):
            self.ref().update({"users": 1, "users/ada/name": 2})
        self.assertEqual(ref.child("name").get(), "A")

    def test_push_names_are_in_order(self):
        keys = [self.ref("list").push({"n": number}).key for number in range(20)]
        self.assertEqual(keys, sorted(keys))
        self.assertEqual(len(set(keys)), 20)
        stored = self.ref("list").order_by_key().get()
        self.assertEqual([stored[key]["n"] for key in keys], list(range(20)))
        self.assertEqual(self.ref("list").push().get(), "")

    def test_delete(self):
        self.ref("a/b/c").set(1)
        self.ref("a/b/c").delete()
        self.assertIsNone(self.ref().get())

    def test_server_values(self):
        before = time.time() * 1000
        self.ref("at").set({".sv": "timestamp"})
        self.assertLess(abs(self.ref("at").get() - before), 60_000)
        for _ in range(3):
            self.ref("count").set({".sv": {"increment": 2}})
        self.assertEqual(self.ref("count").get(), 6)

    def test_shallow(self):
        self.ref("users").set({"ada": {"x": 1}, "bob": 2})
        self.assertEqual(self.ref("users").get(shallow=True), {"ada": True, "bob": True})
        self.assertEqual(self.ref("users/bob").get(shallow=True), 2)

    def test_paths(self):
        for key in ["Ünï cödé", "a b+c&d=e", "100%", "😀", "-", "~tilde'", "a:b,c;d"]:
            ref = self.ref().child(key)
            ref.set(key)
            self.assertEqual(ref.get(), key)
        self.assertEqual(len(self.ref().get()), 7)

    def test_data_that_may_not_be(self):
        for value in [{"a.b": 1}, {"a/b": 1}, {"": 1}, {"$a": 1}, {"a": {".value": {}, "b": 1}}]:
            with self.assertRaises(exceptions.InvalidArgumentError, msg=value):
                self.ref("x").set(value)
        deep = 1
        for _ in range(33):
            deep = {"a": deep}
        with self.assertRaises(exceptions.InvalidArgumentError):
            self.ref("x").set(deep)
        self.assertIsNone(self.ref().get())

    def test_a_megabyte(self):
        value = {f"k{number}": "x" * 1000 for number in range(1000)}
        self.ref("big").set(value)
        self.assertEqual(self.ref("big").get(), value)


class TransactionTests(AdminTest):
    def test_etags(self):
        ref = self.ref("a")
        self.assertEqual(ref.get(etag=True), (None, "null_etag"))
        ref.set({"n": 1})
        value, etag = ref.get(etag=True)
        self.assertEqual(value, {"n": 1})
        self.assertEqual(ref.get_if_changed(etag), (False, None, None))
        self.assertEqual(ref.get_if_changed("wrong"), (True, {"n": 1}, etag))
        self.assertEqual(ref.set_if_unchanged("wrong", 2), (False, {"n": 1}, etag))
        success, value, new = ref.set_if_unchanged(etag, {"n": 2})
        self.assertEqual((success, value), (True, {"n": 2}))
        self.assertEqual(ref.get(etag=True), ({"n": 2}, new))
        self.assertNotEqual(new, etag)

    def test_transaction(self):
        ref = self.ref("count")
        self.assertEqual(ref.transaction(lambda value: (value or 0) + 1), 1)
        self.assertEqual(ref.transaction(lambda value: (value or 0) + 1), 2)
        with self.assertRaises(ZeroDivisionError):
            ref.transaction(lambda value: 1 // 0)
        self.assertEqual(ref.get(), 2)

    def test_transactions_at_once(self):
        ref = self.ref("count")
        runs = []

        def work():
            for _ in range(10):
                while True:
                    try:
                        ref.transaction(lambda value: runs.append(1) or (value or 0) + 1)
                        break
                    except db.TransactionAbortedError:
                        pass

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(ref.get(), 40)
        self.assertGreaterEqual(len(runs), 40)


class QueryTests(AdminTest):
    def setUp(self):
        super().setUp()
        self.set_rules({"rules": {"users": {".indexOn": ["height", "at/x"]}, "scores": {".indexOn": ".value"}}})
        self.ref("users").set({
            "ann": {"height": 1.5, "at": {"x": 3}},
            "bob": {"height": 1.9, "at": {"x": 1}},
            "cy": {"height": 1.5},
            "10": {"height": "tall", "at": {"x": 2}},
        })
        self.ref("scores").set({"a": 3, "b": 1, "c": 2})

    def keys(self, query):
        value = query.get()
        self.assertIsInstance(value, collections.OrderedDict)
        return list(value)

    def test_orders(self):
        users = self.ref("users")
        self.assertEqual(self.keys(users.order_by_child("height")), ["ann", "cy", "bob", "10"])
        self.assertEqual(self.keys(users.order_by_child("at/x")), ["cy", "bob", "10", "ann"])
        self.assertEqual(self.keys(users.order_by_key()), ["10", "ann", "bob", "cy"])
        self.assertEqual(self.keys(self.ref("scores").order_by_value()), ["b", "c", "a"])

    def test_ranges_and_limits(self):
        height = lambda: self.ref("users").order_by_child("height")  # noqa: E731
        self.assertEqual(self.keys(height().limit_to_first(2)), ["ann", "cy"])
        self.assertEqual(self.keys(height().limit_to_last(2)), ["bob", "10"])
        self.assertEqual(self.keys(height().start_at(1.6)), ["bob", "10"])
        self.assertEqual(self.keys(height().end_at(1.5)), ["ann", "cy"])
        self.assertEqual(self.keys(height().start_at(1.5).end_at(1.9).limit_to_last(1)), ["bob"])
        self.assertEqual(self.keys(height().equal_to("tall")), ["10"])
        by_key = self.ref("users").order_by_key().start_at("ann").end_at("bob")
        self.assertEqual(self.keys(by_key), ["ann", "bob"])
        self.assertEqual(self.keys(self.ref("scores").order_by_value().start_at(2)), ["c", "a"])
        self.assertFalse(height().equal_to("nobody").get())

    def test_what_has_no_index(self):
        for query in [
            self.ref("users").order_by_child("name"), self.ref("other").order_by_child("height"),
            self.ref("users").order_by_value(),
        ]:
            with self.assertRaises(exceptions.InvalidArgumentError) as caught:
                query.limit_to_first(1).get()
            self.assertIn("Index not defined, add \".indexOn\"", str(caught.exception))

    def test_limits_of_nothing(self):
        with self.assertRaises(exceptions.InvalidArgumentError):
            self.ref("users").order_by_key().limit_to_first(0).get()


class RulesTests(AdminTest):
    def setUp(self):
        super().setUp()
        self.set_rules()
        self.ada = self.make_app(databaseAuthVariableOverride={"uid": "ada"})
        self.nobody = self.make_app(databaseAuthVariableOverride=None)
        self.editor = self.make_app(databaseAuthVariableOverride={"uid": "e", "editor": True})
        self.ref("users").set({"ada": {"age": 36}, "bob": {"age": 20}})
        self.ref("editors").set("x")

    def assert_denied(self, call, *arguments):
        with self.assertRaises(exceptions.UnauthenticatedError) as caught:
            call(*arguments)
        self.assertEqual(str(caught.exception), "Permission denied")

    def test_rules_can_be_read(self):
        status, _, rules = self.request("GET", "/.settings/rules.json?format=strict", None, support.OWNER)
        self.assertEqual((status, rules), (200, support.RULES))
        self.assertEqual(self.request("GET", "/.settings/rules.json")[0], 401)

    def test_reads(self):
        self.assertEqual(self.ref("users/ada", self.ada).get(), {"age": 36})
        self.assertEqual(self.ref("editors", self.editor).get(), "x")
        self.assertIsNone(self.ref("public", self.nobody).get())
        self.assert_denied(self.ref("users/bob", self.ada).get)
        self.assert_denied(self.ref("users", self.ada).get)
        self.assert_denied(self.ref("users/ada", self.nobody).get)
        self.assert_denied(self.ref("editors", self.ada).get)
        self.assert_denied(self.ref("users/bob", self.ada).order_by_key().limit_to_first(1).get)

    def test_writes(self):
        self.ref("users/ada/age", self.ada).set(37)
        self.ref("public/p", self.nobody)
        self.ref("public", self.nobody).set({"name": "n", "x": 1})
        self.assert_denied(self.ref("public", self.nobody).set, {"x": 1})
        self.assert_denied(self.ref("users/ada/age", self.ada).set, -1)
        self.assert_denied(self.ref("users/ada/age", self.ada).set, "old")
        self.assert_denied(self.ref("users/bob/age", self.ada).set, 1)
        self.assert_denied(self.ref("users/ada", self.nobody).delete)
        self.assert_denied(self.ref("editors", self.editor).set, "y")
        self.assert_denied(self.ref("users", self.ada).update, {"ada/age": 38, "bob/age": 38})
        self.assert_denied(self.ref("users/bob", self.ada).push, 1)
        self.assert_denied(self.ref("users/bob/age", self.ada).set_if_unchanged, "x", 1)
        self.assertEqual(self.ref("users").get(), {"ada": {"age": 37}, "bob": {"age": 20}})


class ListenTests(AdminTest):
    def listen(self, path):
        events = []
        registration = self.ref(path).listen(
            lambda event: events.append((event.event_type, event.path, event.data)))
        self.addCleanup(registration.close)
        return events

    def wait(self, events, count):
        self.wait_for(lambda: len(events) >= count, lambda: f"{count} events, but {events}")

    def test_listen(self):
        events = self.listen("/users")
        self.wait(events, 1)
        self.ref("users/ada").set({"name": "Ada"})
        self.wait(events, 2)
        self.ref("users/ada").update({"born": 1815, "meta/k": True})
        self.wait(events, 3)
        key = self.ref("users").push().key
        self.ref("other").set(1)
        self.ref("users/ada/name").delete()
        self.wait(events, 5)
        self.ref("users").delete()
        self.wait(events, 6)
        self.assertEqual(events, [
            ("put", "/", None),
            ("put", "/ada", {"name": "Ada"}),
            ("patch", "/ada", {"born": 1815, "meta/k": True}),
            ("put", f"/{key}", ""),
            ("put", "/ada/name", None),
            ("put", "/", None),
        ])

    def test_listeners_see_all_writes_in_order(self):
        listeners = [self.listen("/n") for _ in range(3)]
        for events in listeners:
            self.wait(events, 1)
        for number in range(50):
            self.ref("n").set(number)
        for events in listeners:
            self.wait(events, 51)
            self.assertEqual([data for _, _, data in events[1:]], list(range(50)))


if __name__ == "__main__":
    unittest.main()

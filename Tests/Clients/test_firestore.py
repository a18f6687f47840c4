"""The Python package google-cloud-firestore, over REST and over gRPC.

Its REST transport knows errors by their HTTP status alone: ABORTED and ALREADY_EXISTS are a Conflict, and every 400 is a BadRequest. Over gRPC
they are kinds of these.
"""
import datetime
import os
import queue
import threading
import unittest
import unittest.mock
import warnings

import support
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import And, FieldFilter, Or
from google.cloud.firestore_v1.field_path import FieldPath
from google.cloud.firestore_v1.services.firestore import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports.rest import FirestoreRestTransport


class RestClient:
    """Clients whose calls go over REST."""

    def connect(self, database=None):
        credentials = AnonymousCredentials()
        client = firestore.Client(project=self.namespace, credentials=credentials, database=database)
        transport = FirestoreRestTransport(host=support.HOST, url_scheme="http", credentials=credentials)
        client._firestore_api_internal = FirestoreClient(transport=transport)
        self.addCleanup(transport.close)
        return client


class GrpcClient:
    """Clients as the vendor's guides have them for an emulator."""

    def connect(self, database=None):
        with unittest.mock.patch.dict(os.environ, {"FIRESTORE_EMULATOR_HOST": support.GRPC}):
            client = firestore.Client(project=self.namespace, database=database)
            client._firestore_api
        self.addCleanup(client.close)
        return client


class FirestoreChecks:
    """What holds over both, each time with an empty project."""

    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore")
        self.client = self.connect()
        self.rooms = self.client.collection("rooms")

    def fill(self):
        batch = self.client.batch()
        for number in range(20):
            batch.set(self.rooms.document(f"r{number}"), {"i": number, "tags": [number, number + 1]})
        batch.commit()

    @staticmethod
    def ids(query):
        return [document.id for document in query.stream()]

    def where(self, field, operator, value):
        return self.ids(self.rooms.where(filter=FieldFilter(field, operator, value)))

    def test_documents(self):
        eros = self.rooms.document("eros")
        self.assertFalse(eros.get().exists)
        eros.set({
            "size": 3, "at": firestore.SERVER_TIMESTAMP, "tags": ["a"], "place": firestore.GeoPoint(1, 2), "bytes": b"\x00\xff",
            "none": None, "nan": float("nan"), "map": {"a": {"b": 1}}, "reference": self.rooms.document("x"),
        })
        with self.assertRaises(exceptions.Conflict):
            eros.create({})
        eros.update({
            "size": firestore.Increment(4), "tags": firestore.ArrayUnion(["b"]), "map.a.b": 2, "none": firestore.DELETE_FIELD,
        })
        found = eros.get()
        data = found.to_dict()
        self.assertEqual((data["size"], data["tags"], data["map"]), (7, ["a", "b"], {"a": {"b": 2}}))
        self.assertEqual((data["bytes"], data["place"], "none" in data), (b"\x00\xff", firestore.GeoPoint(1, 2), False))
        self.assertIsInstance(data["at"], datetime.datetime)
        self.assertEqual(data["reference"].path, "rooms/x")
        with self.assertRaises(exceptions.NotFound):
            self.rooms.document("none").update({"a": 1})
        eros.set({"map": {"c": 3}}, merge=True)
        self.assertEqual(eros.get().get("map"), {"a": {"b": 2}, "c": 3})
        with self.assertRaisesRegex(exceptions.BadRequest, "changed since"):
            eros.delete(self.client.write_option(last_update_time=found.update_time))
        eros.delete()
        self.assertFalse(eros.get().exists)
        self.rooms.document("é 𝄞").set({"ü`.": 1})
        self.assertEqual(self.rooms.document("é 𝄞").get().to_dict(), {"ü`.": 1})
        _, added = self.rooms.add({})
        self.assertEqual([d.exists for d in self.client.get_all([added])], [True])

    def test_queries(self):
        self.fill()
        for operator, value, count in [
            ("==", 3, 1), ("!=", 3, 19), ("<", 3, 3), ("<=", 3, 4), (">", 3, 16), (">=", 3, 17), ("in", [1, 2, 50], 2),
            ("not-in", [1, 2], 18),
        ]:
            with self.subTest(operator=operator):
                self.assertEqual(len(self.where("i", operator, value)), count)
        self.assertEqual(self.where("tags", "array_contains", 3), ["r2", "r3"])
        self.assertEqual(self.where("tags", "array_contains_any", [3, 9]), ["r2", "r3", "r8", "r9"])
        either = Or([FieldFilter("i", "==", 1), FieldFilter("i", ">", 17)])
        self.assertEqual(self.ids(self.rooms.where(filter=either)), ["r1", "r18", "r19"])
        by_i = self.rooms.order_by("i")
        self.assertEqual(self.ids(self.rooms.order_by("i", direction="DESCENDING").limit(2)), ["r19", "r18"])
        # The client turns the orders of the query round, and those of the query that it was made of.
        self.assertEqual([d.id for d in self.rooms.order_by("i").limit_to_last(2).get()], ["r18", "r19"])
        self.assertEqual(self.ids(by_i.start_at({"i": 5}).end_before({"i": 8})), ["r5", "r6", "r7"])
        self.assertEqual(self.ids(by_i.start_after(self.rooms.document("r5").get()).limit(2)), ["r6", "r7"])
        self.assertEqual(self.ids(by_i.offset(18)), ["r18", "r19"])
        chosen = self.rooms.select(["i"]).where(filter=FieldFilter("i", "==", 1)).stream()
        self.assertEqual([d.to_dict() for d in chosen], [{"i": 1}])
        self.assertEqual(self.ids(self.client.collection("nothing")), [])
        self.assertEqual(by_i.count(alias="n").get()[0][0].value, 20)
        # The answer is a map, whose order the client does not keep.
        numbers = by_i.sum("i", alias="s").avg("i", alias="a").get()[0]
        self.assertEqual({r.alias: r.value for r in numbers}, {"s": 190, "a": 9.5})

    def test_null_and_nan(self):
        values = {"null": None, "nan": float("nan"), "one": 1, "text": "x"}
        for name, value in values.items():
            self.rooms.document(name).set({"v": value})
        self.rooms.document("without").set({})
        nan = float("nan")
        for operator, value, found in [
            ("==", None, ["null"]), ("!=", None, ["nan", "one", "text"]), ("==", nan, ["nan"]), ("!=", nan, ["one", "text"]),
        ]:
            with self.subTest(operator=operator, value=value):
                self.assertEqual(sorted(self.where("v", operator, value)), found)

    def test_composite_filters(self):
        self.fill()
        both = And([FieldFilter("i", ">=", 3), FieldFilter("i", "<", 6), FieldFilter("tags", "array_contains", 5)])
        self.assertEqual(self.ids(self.rooms.where(filter=both)), ["r4", "r5"])
        nested = Or([And([FieldFilter("i", ">", 1), FieldFilter("i", "<", 4)]), FieldFilter("i", "in", [10, 50])])
        self.assertEqual(self.ids(self.rooms.where(filter=nested).order_by("i")), ["r2", "r3", "r10"])
        # Two wheres are both.
        two = self.rooms.where(filter=FieldFilter("i", "not-in", [3, 4])).where(filter=FieldFilter("i", "<", 5))
        self.assertEqual(self.ids(two), ["r0", "r1", "r2"])
        numbers = self.rooms.where(filter=both).count(alias="n").get()
        self.assertEqual(numbers[0][0].value, 2)

    def test_cursors(self):
        for number in range(8):
            self.rooms.document(f"r{number}").set({"a": number // 3, "b": -number})
        by_a = self.rooms.order_by("a").order_by("b", direction="DESCENDING")
        self.assertEqual(self.ids(by_a), [f"r{number}" for number in range(8)])
        r4 = self.rooms.document("r4").get()
        for query, first, last in [
            (by_a.start_at({"a": 1, "b": -4}), 4, 7), (by_a.start_after({"a": 1, "b": -4}), 5, 7),
            (by_a.end_at({"a": 1, "b": -4}), 0, 4), (by_a.end_before({"a": 1, "b": -4}), 0, 3),
            (by_a.start_at({"a": 1}), 3, 7), (by_a.start_after({"a": 1}), 6, 7), (by_a.end_at({"a": 1}), 0, 5),
            (by_a.end_before({"a": 1}), 0, 2), (by_a.start_at(r4), 4, 7), (by_a.start_after(r4), 5, 7), (by_a.end_at(r4), 0, 4),
            (by_a.end_before(r4), 0, 3), (by_a.start_after({"a": 0, "b": -1}).end_at({"a": 1, "b": -4}), 2, 4),
        ]:
            with self.subTest(first=first, last=last):
                self.assertEqual(self.ids(query), [f"r{number}" for number in range(first, last + 1)])

    def test_ids(self):
        for name in ["a", "b", "c", "é"]:
            self.rooms.document(name).set({"n": 1})
            self.rooms.document(name).collection("below").document(name).set({"n": 2})
        place = self.rooms.document
        for name in ["__name__", FieldPath.document_id()]:
            for operator, value, found in [
                ("==", place("b"), ["b"]), ("!=", place("b"), ["a", "c", "é"]), ("<", place("b"), ["a"]),
                ("<=", place("b"), ["a", "b"]), (">", place("b"), ["c", "é"]), (">=", place("c"), ["c", "é"]),
                ("in", [place("é"), place("a"), place("none")], ["a", "é"]), ("not-in", [place("a"), place("é")], ["b", "c"]),
            ]:
                with self.subTest(name=name, operator=operator):
                    self.assertEqual(self.where(name, operator, value), found)
        by_id = self.rooms.order_by("__name__", direction="DESCENDING")
        self.assertEqual(self.ids(by_id.start_after({"__name__": place("é")}).limit(2)), ["c", "b"])
        group = self.client.collection_group("below").where(filter=FieldFilter("__name__", ">=", place("b/below/b")))
        self.assertEqual(self.ids(group), ["b", "c", "é"])

    def test_merge(self):
        eros = self.rooms.document("eros")
        eros.set({"a": 1, "map": {"x": 1, "y": 2}, "c": 3})
        # What is given and not named is not written.
        eros.set({"a": 2, "map": {"x": 5, "z": 6}}, merge=["a", "map.x"])
        self.assertEqual(eros.get().to_dict(), {"a": 2, "map": {"x": 5, "y": 2}, "c": 3})
        eros.set({"map": {"z": 1}}, merge=["map"])
        self.assertEqual(eros.get().to_dict(), {"a": 2, "map": {"z": 1}, "c": 3})
        eros.set({"at": firestore.SERVER_TIMESTAMP, "c": firestore.DELETE_FIELD}, merge=True)
        self.assertEqual(sorted(eros.get().to_dict()), ["a", "at", "map"])
        new = self.rooms.document("new")
        new.set({"a": 1, "n": firestore.Increment(2)}, merge=["a", "n"])
        self.assertEqual(new.get().to_dict(), {"a": 1, "n": 2})

    def test_lists(self):
        self.fill()
        self.rooms.document("ghost").collection("messages").document("1").set({"t": "x"})
        self.assertEqual(self.ids(self.client.collection_group("messages")), ["1"])
        self.assertEqual([c.id for c in self.client.collections()], ["rooms"])
        self.assertEqual([c.id for c in self.rooms.document("ghost").collections()], ["messages"])
        listed = sorted(d.id for d in self.rooms.list_documents(page_size=7))
        self.assertEqual(listed, sorted([f"r{number}" for number in range(20)] + ["ghost"]))

    def test_transactions(self):
        counter = self.client.collection("numbers").document("n")
        counter.set({"n": 0})

        @firestore.transactional
        def add(transaction, place):
            transaction.update(place, {"n": place.get(transaction=transaction).get("n") + 1})

        def work():
            client = self.connect()
            for _ in range(5):
                while True:
                    try:
                        add(client.transaction(), client.collection("numbers").document("n"))
                        break
                    except (exceptions.Conflict, ValueError):  # Over gRPC the client tries five times by itself.
                        pass

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(counter.get().get("n"), 20)

        @firestore.transactional
        def fail(transaction):
            counter.get(transaction=transaction)
            raise ValueError("mine")

        with self.assertRaisesRegex(ValueError, "mine"):
            fail(self.client.transaction())
        reading = firestore.transactional(lambda t: self.ids_in(t))
        self.assertEqual(reading(self.client.transaction(read_only=True)), ["n"])

    def ids_in(self, transaction):
        return [d.id for d in self.client.collection("numbers").stream(transaction=transaction)]

    def test_many(self):
        writer = self.client.bulk_writer()
        for number in range(50):
            writer.set(self.rooms.document(str(number)), {"n": number})
        writer.close()
        self.assertEqual(len(self.ids(self.rooms)), 50)
        other = self.connect(database="two")
        other.collection("rooms").document("only").set({})
        self.assertEqual(self.ids(other.collection("rooms")), ["only"])
        path = f"/emulator/v1/projects/{self.namespace}/databases/(default)/documents"
        self.assertEqual(self.request("DELETE", path)[0], 200)
        self.assertEqual(self.ids(self.rooms), [])
        self.assertEqual(self.ids(other.collection("rooms")), ["only"])


class RestTest(RestClient, FirestoreChecks, support.ClientTest):
    pass


@unittest.skipUnless(support.GRPC, "the server has no gRPC")
class GrpcTest(GrpcClient, FirestoreChecks, support.ClientTest):
    def listen(self, target):
        """Listens to a document, a collection or a query; what is told comes from the queue that is returned."""
        told = queue.Queue()
        watch = target.on_snapshot(lambda documents, changes, _: told.put(([d.to_dict() for d in documents], changes)))
        self.addCleanup(watch.unsubscribe)
        return told, watch

    def next(self, told):
        documents, changes = told.get(timeout=60)
        return documents, [(change.type.name, change.document.id) for change in changes]

    def test_listen_document(self):
        eros = self.rooms.document("eros")
        told, watch = self.listen(eros)
        self.assertEqual(self.next(told), ([], []))
        eros.set({"n": 1})
        self.assertEqual(self.next(told), ([{"n": 1}], [("ADDED", "eros")]))
        eros.update({"n": 2})
        self.assertEqual(self.next(told), ([{"n": 2}], [("MODIFIED", "eros")]))
        eros.delete()
        self.assertEqual(self.next(told), ([], [("REMOVED", "eros")]))
        watch.unsubscribe()

    def test_listen_collection(self):
        self.fill()
        told, _ = self.listen(self.rooms)
        documents, changes = self.next(told)
        self.assertEqual(len(documents), 20)
        self.assertEqual({kind for kind, _ in changes}, {"ADDED"})
        self.rooms.document("r3").delete()
        documents, changes = self.next(told)
        self.assertEqual((len(documents), changes), (19, [("REMOVED", "r3")]))
        batch = self.client.batch()
        batch.set(self.rooms.document("new"), {"i": 100})
        batch.update(self.rooms.document("r4"), {"i": 400})
        batch.commit()
        documents, changes = self.next(told)
        self.assertEqual((len(documents), sorted(changes)), (20, [("ADDED", "new"), ("MODIFIED", "r4")]))

    def test_listen_query(self):
        self.fill()
        last = self.rooms.where(filter=FieldFilter("i", "<", 10)).order_by("i", direction="DESCENDING").limit(3)
        told, _ = self.listen(last)
        # This client sorts what it is told upwards, whatever the query says.
        self.assertEqual(sorted(d["i"] for d in self.next(told)[0]), [7, 8, 9])
        self.rooms.document("r8").update({"i": 80})
        documents, changes = self.next(told)
        self.assertEqual(sorted(d["i"] for d in documents), [6, 7, 9])
        self.assertEqual(sorted(changes), [("ADDED", "r6"), ("REMOVED", "r8")])
        group, _ = self.listen(self.client.collection_group("messages"))
        self.assertEqual(self.next(group), ([], []))
        self.rooms.document("r1").collection("messages").document("m").set({"t": "hi"})
        self.assertEqual(self.next(group), ([{"t": "hi"}], [("ADDED", "m")]))

    def test_one_data(self):
        other = RestClient.connect(self)
        told, _ = self.listen(self.rooms)
        self.assertEqual(self.next(told), ([], []))
        other.collection("rooms").document("eros").set({"n": 1})
        self.assertEqual(self.next(told), ([{"n": 1}], [("ADDED", "eros")]))
        self.rooms.document("eros").update({"n": firestore.Increment(1)})
        self.assertEqual(other.collection("rooms").document("eros").get().to_dict(), {"n": 2})

    def test_errors(self):
        eros = self.rooms.document("eros")
        eros.create({})
        with self.assertRaises(exceptions.AlreadyExists):
            eros.create({})
        with self.assertRaises(exceptions.FailedPrecondition):
            eros.delete(self.client.write_option(last_update_time=datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)))
        with self.assertRaises(exceptions.InvalidArgument):
            eros.set({"text": "x" * (1 << 20)})
        with self.assertRaises(exceptions.MethodNotImplemented):
            list(self.client.collection_group("rooms").get_partitions(2))


if __name__ == "__main__":
    unittest.main()

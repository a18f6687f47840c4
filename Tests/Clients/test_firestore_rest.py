"""The Python package google-cloud-firestore, whose calls go over REST instead of gRPC.

Its REST transport knows errors by their HTTP status alone: ABORTED and ALREADY_EXISTS are a Conflict, and every 400 is a BadRequest.
"""
import datetime
import threading
import unittest
import warnings

import support
from google.api_core import exceptions
from google.auth.credentials import AnonymousCredentials
from google.cloud import firestore
from google.cloud.firestore_v1.base_query import FieldFilter, Or
from google.cloud.firestore_v1.services.firestore import FirestoreClient
from google.cloud.firestore_v1.services.firestore.transports.rest import FirestoreRestTransport


class FirestoreTest(support.ClientTest):
    """A test with an empty project."""

    def setUp(self):
        super().setUp()
        warnings.simplefilter("ignore")
        self.client = self.connect()
        self.rooms = self.client.collection("rooms")

    def connect(self, database=None):
        credentials = AnonymousCredentials()
        client = firestore.Client(project=self.namespace, credentials=credentials, database=database)
        transport = FirestoreRestTransport(host=support.HOST, url_scheme="http", credentials=credentials)
        client._firestore_api_internal = FirestoreClient(transport=transport)
        self.addCleanup(transport.close)
        return client

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
                    except exceptions.Conflict:
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


if __name__ == "__main__":
    unittest.main()

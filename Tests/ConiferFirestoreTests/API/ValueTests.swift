import ConiferDocument
import Foundation
import Testing

@testable import ConiferFirestore

@Suite("Values in and out")
struct ValueTests {
  @Test("Values of Swift and of Foundation become fields")
  func values() throws {
    let world = Recorded()
    let time = try ConiferDocument.Timestamp(seconds: 100, nanoseconds: 123_456_000)
    let data: [String: Any] = [
      "null": NSNull(), "nil": Int?.none as Any, "some": Int?.some(3) as Any,
      "true": true, "number true": NSNumber(value: true), "number 1": NSNumber(value: 1),
      "int": 1, "int8": Int8(-8), "uint": UInt(7), "uint64": UInt64(Int64.max),
      "double": 1.0, "float": Float(0.5), "number double": NSNumber(value: 2.5),
      "nan": Double.nan, "cgfloat": CGFloat(2), "decimal": Decimal(1.5),
      "string": "s", "nsstring": NSString("t"), "substring": "abc".dropFirst(),
      "date": Date(timeIntervalSince1970: 100.123456),
      "timestamp": Timestamp(seconds: 100, nanoseconds: 123_456_789),
      "data": Data([1, 2]), "point": GeoPoint(latitude: 1, longitude: 2),
      "reference": world.firestore.document("rooms/zeus"), "vector": FieldValue.vector([1, 2]),
      "array": [1, "a", NSNull(), ["b": 1]] as [Any], "nsarray": NSArray(array: [1]),
      "map": ["a": ["b": 1]], "nsdictionary": NSDictionary(dictionary: ["a": 1]),
      "empty": [String: Any](), "none": [Any](),
    ]
    let name = DocumentName(try DocumentPath("rooms/zeus"), in: world.database)
    let expected: MapValue = [
      "null": nil, "nil": nil, "some": 3, "true": true, "number true": true, "number 1": 1,
      "int": 1, "int8": -8, "uint": 7, "uint64": .integer(.max), "double": 1.0, "float": 0.5,
      "number double": 2.5, "nan": .double(.nan), "cgfloat": 2.0, "decimal": 1.5, "string": "s",
      "nsstring": "t", "substring": "bc", "date": .timestamp(time), "timestamp": .timestamp(time),
      "data": .bytes([1, 2]), "point": .geoPoint(try .init(latitude: 1, longitude: 2)),
      "reference": .reference(name), "vector": .vector([1, 2]),
      "array": [1, "a", nil, ["b": 1]], "nsarray": [1], "map": ["a": ["b": 1]],
      "nsdictionary": ["a": 1], "empty": [:], "none": [],
    ]
    let fields = try #require(try world.set(data))
    for field in expected.fields {
      #expect(fields[field.name] == field.value, "\(field.name)")
    }
    #expect(fields.count == expected.count)
  }

  @Test("Fields become values that can be cast as on Apple systems, and be written again")
  func roundTrip() throws {
    let world = Recorded()
    let time = try ConiferDocument.Timestamp(seconds: 100, nanoseconds: 123_456_000)
    let name = DocumentName(try DocumentPath("rooms/zeus"), in: world.database)
    let fields: MapValue = [
      "null": nil, "bool": true, "int": 3, "whole": 3.0, "double": 2.5, "big": .integer(.max),
      "time": .timestamp(time), "text": "é", "bytes": .bytes([0, 255]),
      "ref": .reference(name), "point": .geoPoint(try .init(latitude: -90, longitude: 180)),
      "array": [1, [:], nil], "map": ["a": ["b": [1]]], "vector": .vector([1, 2.5]),
    ]
    let snapshot = try world.snapshot("rooms/eros", fields)
    let data = try #require(snapshot.data())
    #expect(data["null"] is NSNull)
    #expect(data["bool"] as? Bool == true)
    #expect(data["int"] as? Int == 3 && data["int"] as? Double == 3)
    #expect(data["whole"] as? Int == 3 && data["whole"] as? Double == 3)
    #expect(data["double"] as? Double == 2.5 && data["double"] as? Int == nil)
    #expect(data["big"] as? Int64 == .max)
    #expect(data["time"] as? Timestamp == Timestamp(seconds: 100, nanoseconds: 123_456_000))
    #expect(data["bytes"] as? Data == Data([0, 255]))
    #expect(data["ref"] as? DocumentReference == world.firestore.document("rooms/zeus"))
    #expect(data["vector"] as? VectorValue == VectorValue([1, 2.5]))
    #expect(FieldValue.vector([1, 2.5] as [Float]) == VectorValue([1, 2.5]))
    #expect((data["map"] as? [String: [String: Any]])?["a"]?["b"] as? [Int] == [1])
    #expect(try world.set(data) == fields)
  }

  @Test("A field is had by its name, by a path, and by a path of names with any characters")
  func fields() throws {
    let world = Recorded()
    let snapshot = try world.snapshot(
      "rooms/eros", ["a.b": 1, "a": ["b": 2, "c d": 3], "ä/~*[]": 4])
    #expect(snapshot.get("a.b") as? Int == 2)
    #expect(snapshot[FieldPath(["a.b"])] as? Int == 1)
    #expect(snapshot[FieldPath(["a", "c d"])] as? Int == 3)
    #expect(snapshot["a.c d"] as? Int == 3)
    #expect(snapshot.get(FieldPath(["ä/~*[]"])) as? Int == 4)
    #expect(snapshot.get("nothing") == nil)
    #expect(world.errors.all.isEmpty)
    #expect(snapshot.get("a..b") == nil && snapshot.get("a/b") == nil && snapshot.get(3) == nil)
    #expect(world.errors.all.count == 3)
  }

  @Test("Timestamps are cut to microseconds when written; dates and timestamps agree")
  func times() throws {
    let world = Recorded()
    let fields = try #require(
      try world.set([
        "cut": Timestamp(seconds: -1, nanoseconds: 999_999_999),
        "old": Date(timeIntervalSince1970: -0.25),
      ]))
    #expect(
      fields["cut"] == .timestamp(try .init(seconds: -1, nanoseconds: 999_999_000)))
    #expect(fields["old"] == .timestamp(try .init(seconds: -1, nanoseconds: 750_000_000)))
    let date = Date(timeIntervalSince1970: 1_700_000_000.5)
    #expect(Timestamp(date: date).dateValue() == date)
    #expect(Timestamp(seconds: 1, nanoseconds: 2) < Timestamp(seconds: 1, nanoseconds: 3))
    #expect(Timestamp(date: Date(timeIntervalSince1970: .infinity)).seconds == .max)
  }

  @Test("Data that no document can hold is told with its field")
  func faults() async {
    final class Thing {}
    let deep = (0..<60).reduce([:] as [String: Any]) { inner, _ in ["d": inner] }
    let world = Recorded()
    let cases: [(String, [String: Any])] = [
      ("'thing'", ["thing": Thing()]), ("'a.1'", ["a": [1, Thing()] as [Any]]),
      ("'a'", ["a": [[1]]]), ("'big'", ["big": UInt64.max]),
      ("'keys'", ["keys": [1: 2] as [AnyHashable: Any]]),
      ("'time'", ["time": Timestamp(seconds: .max, nanoseconds: 0)]),
      ("'time'", ["time": Timestamp(seconds: 0, nanoseconds: -1)]),
      ("'point'", ["point": GeoPoint(latitude: 91, longitude: 0)]),
      ("'point'", ["point": GeoPoint(latitude: .nan, longitude: 0)]),
      ("'query'", ["query": world.firestore.collection("rooms")]),
      ("'ref'", ["ref": Recorded { $0.projectID = "b" }.firestore.document("a/b")]),
      ("odd", ["ref": world.firestore.document("odd")]),
      ("nested deeper", ["deep": deep]), ("__a__", ["__a__": 1]), ("empty name", ["": 1]),
      ("a", ["a": FieldValue.delete()]), ("array", ["a": [FieldValue.serverTimestamp()]]),
      ("array", ["a": FieldValue.arrayUnion([[1]])]),
      ("FieldValue", ["a": FieldValue.arrayRemove([FieldValue.delete()])]),
    ]
    for (word, data) in cases {
      do throws(FirestoreError) {
        try await world.firestore.document("rooms/eros").setData(data)
        Issue.record("\(data) was taken")
      } catch {
        #expect(error.code == .invalidArgument)
        #expect(error.message.contains(word), "\(error.message)")
      }
    }
    #expect(world.engine.writes.isEmpty)
  }
}

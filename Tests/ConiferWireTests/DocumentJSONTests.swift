import ConiferDocument
import ConiferTree
import Testing

@testable import ConiferWire

@Suite struct DocumentJSONTests {
  static let values: [(value: DocumentValue, text: String)] = [
    (.null, #"{"nullValue":null}"#), (true, #"{"booleanValue":true}"#),
    (.integer(.min), #"{"integerValue":"-9223372036854775808"}"#),
    (.double(.nan), #"{"doubleValue":"NaN"}"#),
    (.double(-.infinity), #"{"doubleValue":"-Infinity"}"#),
    (.double(-0.0), #"{"doubleValue":-0}"#), (.double(3), #"{"doubleValue":3}"#),
    (.double(0x1p70), #"{"doubleValue":1.1805916207174113e+21}"#),
    ("é\u{0}\"\u{10000}", "{\"stringValue\":\"é\\u0000\\\"\u{10000}\"}"),
    (.bytes([]), #"{"bytesValue":""}"#), (.bytes([0, 255]), #"{"bytesValue":"AP8="}"#),
    (.array([]), #"{"arrayValue":{}}"#), (.map([:]), #"{"mapValue":{}}"#),
    (
      ["b": [1, ["a": 2.5]], "a": nil],
      #"{"mapValue":{"fields":{"a":{"nullValue":null},"b":{"arrayValue":{"values":[{"integerValue":"1"},{"mapValue":{"fields":{"a":{"doubleValue":2.5}}}}]}}}}}"#
    ),
    (
      .vector([1, -2.5]),
      #"{"mapValue":{"fields":{"__type__":{"stringValue":"__vector__"},"value":{"arrayValue":{"values":[{"doubleValue":1},{"doubleValue":-2.5}]}}}}}"#
    ),
  ]

  @Test(
    "A value has one text in the REST form, which reads back as the same value", arguments: values)
  func oneText(value: DocumentValue, text: String) throws {
    var writer = JSONWriter()
    writer.typed(value)
    #expect(String(decoding: writer.bytes, as: UTF8.self) == text)
    var reader = DocumentJSONReader(Array(text.utf8))
    #expect(try reader.typed() == value)
    try reader.end()
  }

  @Test("Other spellings of the REST form are read")
  func spellings() throws {
    let spellings: [(String, DocumentValue)] = [
      (#"{"integerValue": 7}"#, 7), (#"{"nullValue": "NULL_VALUE"}"#, nil),
      (#"{"doubleValue": 9007199254740993}"#, .double(9_007_199_254_740_992)),
      (#"{"bytesValue": "_-8"}"#, .bytes([0xFF, 0xEF])),
      (#"{"arrayValue": {"values": []}}"#, []), (#"{"mapValue": {"fields": {}}}"#, [:]),
      (#"{"geoPointValue": {"longitude": 2}}"#, .geoPoint(try GeoPoint(latitude: 0, longitude: 2))),
      (
        #"{"timestampValue": "2026-01-01T00:30:00.5+01:00"}"#,
        .timestamp(try Timestamp(rfc3339: "2025-12-31T23:30:00.500Z"))
      ),
    ]
    for (text, value) in spellings {
      var reader = DocumentJSONReader(Array(text.utf8))
      #expect(try reader.typed() == value, "\(text)")
    }
  }

  static let times: [(String, Int64, Int32)] = [
    ("1970-01-01T00:00:00Z", 0, 0), ("1969-12-31T23:59:59.999999999Z", -1, 999_999_999),
    ("0001-01-01T00:00:00Z", -62_135_596_800, 0),
    ("9999-12-31T23:59:59.999999Z", 253_402_300_799, 999_999_000),
    ("2000-02-29T12:00:00.120Z", 951_825_600, 120_000_000),
    ("2100-03-01T00:00:00Z", 4_107_542_400, 0), ("1900-02-28T00:00:00Z", -2_203_977_600, 0),
  ]

  @Test("A time has one text of RFC 3339, to the nanosecond", arguments: times)
  func oneTime(text: String, seconds: Int64, nanoseconds: Int32) throws {
    let time = try Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    #expect(time.rfc3339 == text)
    #expect(try Timestamp(rfc3339: text) == time)
  }

  @Test("Each day from 1 to 9999 reads back")
  func days() throws {
    for day in stride(from: Int64(-719_162), through: 2_932_896, by: 97) {
      let time = try Timestamp(seconds: day * 86_400 + 86_399)
      #expect(try Timestamp(rfc3339: time.rfc3339) == time, "\(time.rfc3339)")
    }
  }

  @Test(
    "What is no time is refused",
    arguments: [
      "", "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01", "2026-01-01T24:00:00Z",
      "2026-01-01T00:00:60Z", "2026-01-01T00:00:00", "2026-01-01T00:00:00.Z",
      "2026-01-01T00:00:00.1234567890Z", "2026-01-01T00:00:00+1:00", "0000-12-31T00:00:00Z",
      "2026-01-01T00:00:00Z ", "9999-12-31T23:59:59-01:00", "2026-01-01T00:00:00\u{E}5Z",
    ])
  func noTimes(text: String) {
    #expect(throws: DocumentError.self) { try Timestamp(rfc3339: text) }
  }

  @Test("Text of base 64 is read in both alphabets, with and without padding, and no other text is")
  func base64() {
    for count in 0..<20 {
      let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 89 + 200) }
      let text = Base64.encode(bytes)
      let bare = String(text.prefix { $0 != "=" })
      #expect(Base64.decode(text) == bytes && Base64.decode(bare) == bytes)
    }
    for text in ["A", "AP8", "AP8=="] {
      #expect(Base64.decode(text) == (text == "AP8" ? [0, 255] : nil), "\(text)")
    }
    for text in ["AP9=", "A P8=", "====", "AB==", "AA=A"] {
      #expect(Base64.decode(text) == nil, "\(text)")
    }
  }

  @Test("An integer of more than 64 bits is no double of plain JSON")
  func largeIntegers() throws {
    for text in [
      "9223372036854775808", "[1, -9223372036854775809]", #"{"a": 18446744073709551615}"#,
    ] {
      var reader = DocumentJSONReader(Array(text.utf8))
      let first = try reader.next()
      let error = #expect(throws: JSONError.self) { try reader.plain(first) }
      #expect(error?.message.contains("64 bits") == true, "\(text)")
    }
    for (text, value) in [
      ("9223372036854775807", .integer(.max)), ("-9223372036854775808", .integer(.min)),
      ("9223372036854775808.0", .double(0x1p63)), ("1e19", .double(1e19)),
      ("[18446744073709551616.5, 3]", .array([.double(0x1p64), 3])),
    ] as [(String, DocumentValue)] {
      var reader = DocumentJSONReader(Array(text.utf8))
      #expect(try reader.plain(try reader.next()) == value, "\(text)")
    }
  }

  @Test(
    "What is no value of the REST form is refused with its place",
    arguments: [
      #"{}"#, #"7"#, #"{"integerValue": "1.5"}"#, #"{"integerValue": 1.5}"#,
      #"{"integerValue": "9223372036854775808"}"#, #"{"fooValue": 1}"#,
      #"{"stringValue": "a", "nullValue": null}"#, #"{"doubleValue": "nan"}"#,
      #"{"bytesValue": "A"}"#, #"{"referenceValue": "rooms/eros"}"#,
      #"{"geoPointValue": {"latitude": 91}}"#, #"{"arrayValue": [1]}"#,
      #"{"arrayValue": {"values": [1]}}"#, #"{"arrayValue": {"values": [{}]}}"#,
      #"{"mapValue": {"a": 1}}"#, #"{"timestampValue": "yesterday"}"#, #"{"booleanValue": "true"}"#,
    ])
  func noValues(text: String) {
    var reader = DocumentJSONReader(Array(text.utf8))
    let error = #expect(throws: JSONError.self) { try reader.typed() }
    #expect(error?.cause is DocumentError && error?.line == 1)
  }
}

@Suite struct DatabaseNameTests {
  @Test("A tree's name is a database's, or a project's")
  func names() {
    #expect(
      DatabaseID(tree: "projects/p/databases/d") == DatabaseID(project: "p", database: "d"))
    #expect(DatabaseID(tree: "shop") == DatabaseID(project: "shop"))
    for name in ["", "a/b", "projects//databases/d", "projects/p/databases/", "projects/p/d/d"] {
      #expect(DatabaseID(tree: name) == nil, "\(name)")
    }
  }
}

import ConiferTree
import TestSupport
import Testing

@Suite struct `JSON writer` {
  @Test(arguments: [
    (2.47, "2.47"), (1e-7, "1e-7"), (.leastNonzeroMagnitude, "5e-324"), (0.1, "0.1"), (-0.0, "-0"),
    (0, "0"),
    (1.7976931348623157e308, "1.7976931348623157e+308"), (999.9999999999999487, "1000"),
    (123456.789, "123456.789"), (1e-6, "0.000001"), (-1.5, "-1.5"), (1e21, "1e+21"),
    (123e18, "123000000000000000000.0"), (0x1p60, "1152921504606847000.0"),
    (9_007_199_254_740_991, "9007199254740991"), (1.25e-10, "1.25e-10"), (100, "100"),
    (.infinity, "null"), (.nan, "null"),
  ])
  func `doubles are written shortest`(value: Double, text: String) throws {
    #expect(JSONSamples.text([.double(value)]) == text)
    guard value.isFinite else { return }
    switch try JSONSamples.events(text).first {
    case .double(let back)?: #expect(back.bitPattern == value.bitPattern)
    case .integer(let back)?: #expect(Double(back) == value)
    default: Issue.record("\(text) is no number")
    }
  }

  @Test func `random doubles come back bit by bit`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    for _ in 0..<20_000 {
      let value = Double(bitPattern: random.next())
      guard value.isFinite else { continue }
      let text = JSONSamples.text([.double(value)])
      switch try JSONSamples.events(text).first {
      case .double(let back)?: #expect(back.bitPattern == value.bitPattern, "\(text), seed \(seed)")
      case .integer(let back)?: #expect(Double(back) == value, "\(text), seed \(seed)")
      default: Issue.record("\(text) is no number")
      }
    }
  }

  @Test(arguments: [
    (Int64.min, "-9223372036854775808"), (.max, "9223372036854775807"), (0, "0"), (-1, "-1"),
    (1_542_405_709_418_655_810, "1542405709418655810"),
  ])
  func `integers are exact`(value: Int64, text: String) throws {
    #expect(JSONSamples.text([.integer(value)]) == text)
    #expect(try JSONSamples.events(text) == [.integer(value)])
  }

  @Test func `strings are escaped where they must be`() {
    #expect(
      JSONSamples.text([.string("a\"b\\c\u{8}\u{9}\u{A}\u{C}\u{D}\u{0}\u{1F}/é\u{7F}\u{1D11E}")])
        == "\"a\\\"b\\\\c\\b\\t\\n\\f\\r\\u0000\\u001f/é\u{7F}\u{1D11E}\"")
  }

  @Test func `the indented form breaks lines, but not in empty containers`() {
    let events: [JSONEvent] = [
      .beginObject, .key("a"), .beginArray, .integer(1), .beginObject, .endObject, .endArray,
      .key("b"), .beginArray, .endArray, .endObject,
    ]
    #expect(JSONSamples.text(events) == #"{"a":[1,{}],"b":[]}"#)
    #expect(
      JSONSamples.text(events, pretty: true)
        == "{\n  \"a\": [\n    1,\n    {}\n  ],\n  \"b\": []\n}")
  }

  @Test func `a sink gets the text in pieces`() throws {
    final class Pieces { var all: [[UInt8]] = [] }
    let pieces = Pieces()
    var writer = JSONWriter(chunkSize: 8) { pieces.all.append($0) }
    writer.beginArray()
    for number in 0..<100 { writer.integer(Int64(number)) }
    writer.endArray()
    try writer.finish()
    #expect(pieces.all.count > 10)
    let expected: [JSONEvent] = [.beginArray] + (0..<100).map { .integer($0) } + [.endArray]
    #expect(try JSONSamples.events(Array(pieces.all.joined())) == expected)
    #expect(writer.bytes.isEmpty)
  }

  @Test func `a failing sink is reported when the writer finishes`() {
    struct Full: Error {}
    var writer = JSONWriter(chunkSize: 4) { _ in throw Full() }
    writer.string("a long string")
    writer.string("another")
    #expect(writer.bytes.isEmpty)
    #expect(writer.failure?.code == .sink)
    #expect(throws: JSONError.self) { try writer.finish() }
  }
}

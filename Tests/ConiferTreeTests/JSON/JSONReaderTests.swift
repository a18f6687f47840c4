import ConiferTree
import TestSupport
import Testing

@Suite struct `JSON reader` {
  @Test func `events follow the text`() throws {
    let events = try JSONSamples.events(#" {"a": [1, -2.5, "x\ny", true, false, null], "b": {}} "#)
    #expect(
      events == [
        .beginObject, .key("a"), .beginArray, .integer(1), .double(-2.5), .string("x\ny"),
        .bool(true), .bool(false), .null, .endArray, .key("b"), .beginObject, .endObject,
        .endObject,
      ])
  }

  @Test(arguments: [
    ("0", JSONEvent.integer(0)), ("9223372036854775807", .integer(.max)),
    ("-9223372036854775808", .integer(.min)), ("9223372036854775808", .double(0x1p63)),
    ("-9223372036854775809", .double(-0x1p63)),
    ("1542405709418655810", .integer(1_542_405_709_418_655_810)),
    ("123456789012345678901234567890", .double(123_456_789_012_345_677_877_719_597_056)),
    ("2.47", .double(2.47)), ("1e-7", .double(1e-7)), ("5e-324", .double(.leastNonzeroMagnitude)),
    ("1.7976931348623157e308", .double(.greatestFiniteMagnitude)),
    ("999.9999999999999487", .double(1000)), ("1.0", .double(1)), ("1E+2", .double(100)),
    ("1e-400", .double(0)), ("9007199254740993.0", .double(9_007_199_254_740_992)),
    ("9007199254740992.9999999999", .double(9_007_199_254_740_992)),
    ("2.2250738585072011e-308", .double(.init(bitPattern: 0xF_FFFF_FFFF_FFFF))),
    ("0.1e1", .double(1)), ("8.41e21", .double(8.41e21)), ("1.5e23", .double(1.5e23)),
  ])
  func `numbers are exact`(text: String, event: JSONEvent) throws {
    #expect(try JSONSamples.events(text) == [event])
  }

  @Test(arguments: ["-0", "-0.0", "-0e5"])
  func `minus zero keeps its sign`(text: String) throws {
    guard case .double(let value)? = try JSONSamples.events(text).first else {
      Issue.record("no double")
      return
    }
    #expect(value == 0 && value.sign == .minus)
  }

  @Test func `short decimals agree with the standard library`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    for _ in 0..<20_000 {
      let digits = String(random.next() >> UInt64.random(in: 0...60, using: &random))
      let text: String
      switch Int.random(in: 0...2, using: &random) {
      case 0: text = digits + "e" + String(Int.random(in: -330...288, using: &random))
      case 1: text = "0." + digits
      default:
        text = digits + "." + String(random.next() % 1000) + "E-" + String(random.next() % 30)
      }
      let expected = try #require(Double(text))
      #expect(try JSONSamples.events(text) == [.double(expected)], "\(text), seed \(seed)")
    }
  }

  @Test(arguments: [
    ("", JSONError.Code.empty), (" \n", .empty), ("[", .unexpectedEnd), ("[1", .unexpectedEnd),
    ("{\"a\"", .unexpectedEnd), ("\"abc", .unexpectedEnd), ("\"\\u12", .unexpectedEnd),
    ("[1,]", .unexpectedByte), ("{,}", .unexpectedByte), ("{\"a\":1,}", .unexpectedByte),
    ("{1:2}", .unexpectedByte), ("[1 2]", .unexpectedByte), ("{\"a\" 1}", .unexpectedByte),
    ("[1}", .unexpectedByte), ("]", .unexpectedByte), ("tru", .unexpectedEnd),
    ("trug", .unexpectedByte), ("1 2", .trailingText), ("nullx", .trailingText),
    ("01", .invalidNumber), ("-", .invalidNumber), ("1.", .invalidNumber), ("1e", .invalidNumber),
    ("1e+", .invalidNumber), ("-a", .invalidNumber), ("1-2", .invalidNumber),
    ("+1", .unexpectedByte), (".5", .unexpectedByte), ("NaN", .unexpectedByte),
    ("1e999", .numberOutOfRange), ("-1e309", .numberOutOfRange), ("'a'", .unexpectedByte),
    ("\"\\x41\"", .invalidEscape), ("\"\\u12G4\"", .invalidEscape),
    ("\"\\ud800\"", .loneSurrogate), ("\"\\udc00\"", .loneSurrogate),
    ("\"\\ud800\\u0041\"", .loneSurrogate), ("\"a\tb\"", .controlCharacter),
    ("\u{FEFF}", .empty),
  ])
  func `what is no JSON is refused`(text: String, code: JSONError.Code) {
    let error = JSONSamples.error(text)
    #expect(error?.code == code, "\(text): \(String(describing: error))")
    #expect(error?.message.isEmpty == false)
  }

  @Test(
    arguments: [
      [0xC0, 0x80], [0xC1, 0xBF], [0xE0, 0x9F, 0xBF], [0xED, 0xA0, 0x80], [0xF0, 0x8F, 0xBF, 0xBF],
      [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80], [0x80], [0xFF], [0xE2, 0x82],
      [0xF0, 0x9F, 0x92], [0xC3],
    ] as [[UInt8]])
  func `malformed UTF-8 is refused where it stands`(bad: [UInt8]) {
    for (before, escaped) in [("abcdefghij", false), ("é\\n", true), ("", false)] {
      let bytes = Array("[\n \"\(before)".utf8) + bad + Array("\"]".utf8)
      let error = JSONSamples.error(bytes)
      #expect(error?.code == .invalidUTF8, "\(bad)")
      #expect(error?.line == 2)
      #expect(error?.column == 3 + before.utf8.count, "\(bad) \(escaped)")
    }
  }

  @Test func `well-formed UTF-8 of every length passes, also beside escapes`() throws {
    for scalar in [
      "\u{7F}", "\u{80}", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFF}",
      "\u{10000}", "\u{10FFFF}",
    ] {
      #expect(
        try JSONSamples.events("\"\(scalar)\\t\(scalar)\"") == [.string("\(scalar)\t\(scalar)")])
      #expect(try JSONSamples.events("\"\(scalar)\"") == [.string(scalar)])
    }
    #expect(try JSONSamples.events(#""\ud834\udd1e\uFFFF\/""#) == [.string("\u{1D11E}\u{FFFF}/")])
  }

  @Test func `a byte order mark is skipped`() throws {
    #expect(
      try JSONSamples.events([0xEF, 0xBB, 0xBF] + Array("{}".utf8)) == [.beginObject, .endObject])
  }

  @Test func `an error names its line and column and comes again`() throws {
    var reader = JSONReader(bytes: Array("{\n  \"é\": 1,\r\n  \"b\" 2}".utf8))
    var found: JSONError?
    for _ in 0..<2 {
      do throws(JSONError) {
        while try reader.next() != nil {}
      } catch {
        #expect(found == nil || found?.description == error.description)
        found = error
      }
    }
    #expect(found?.line == 3)
    #expect(found?.column == 7)
    #expect(found?.description.contains("':'") == true)
  }

  @Test func `the reader tells where each event starts`() throws {
    var reader = JSONReader(bytes: Array("[\n  10,\n\"a\"]".utf8))
    var places: [[Int]] = []
    while try reader.next() != nil { places.append([reader.line, reader.column, reader.offset]) }
    #expect(places == [[1, 1, 0], [2, 3, 4], [3, 1, 8], [3, 4, 11]])
    #expect(reader.bytesRead == 12)
  }

  @Test func `limits on strings and numbers hold in every chunking`() {
    struct Limited {
      static func code(_ text: String, _ size: Int) -> JSONError.Code? {
        var rest = Array(text.utf8)[...]
        var reader = JSONReader(limits: .init(stringBytes: 10, numberBytes: 10)) { buffer in
          buffer.append(contentsOf: rest.prefix(size))
          rest = rest.dropFirst(size)
          return !rest.isEmpty
        }
        do throws(JSONError) {
          while try reader.next() != nil {}
          return nil
        } catch { return error.code }
      }
    }
    for size in [1, 4, 100] {
      #expect(Limited.code("\"1234567890\"", size) == nil)
      #expect(Limited.code("\"12345678901\"", size) == .tooLong)
      #expect(Limited.code("1234567890", size) == nil)
      #expect(Limited.code("12345678901", size) == .tooLong)
    }
  }

  @Test func `a failing source is reported with its error`() {
    struct Torn: Error {}
    var calls = 0
    var reader = JSONReader { buffer in
      calls += 1
      if calls == 2 { throw Torn() }
      buffer.append(contentsOf: "[1,".utf8)
      return true
    }
    var found: JSONError?
    do throws(JSONError) { while try reader.next() != nil {} } catch { found = error }
    #expect(found?.code == .source)
    #expect(found?.cause is Torn)
  }

  @Test func `random documents read alike in random chunks`() throws {
    let seed = UInt64.random(in: 0...UInt64.max)
    var random = Seeded(seed)
    for _ in 0..<200 {
      var events: [JSONEvent] = []
      JSONDocuments.append(to: &events, depth: 4, using: &random)
      let bytes = Array(JSONSamples.text(events, pretty: Bool.random(using: &random)).utf8)
      #expect(try JSONSamples.events(bytes) == events, "seed \(seed)")
      for size in [1, 2, 3, 7] {
        #expect(try JSONSamples.events(bytes, chunks: { size }) == events, "seed \(seed)")
      }
      var sizes = random
      let cut = try JSONSamples.events(bytes, chunks: { Int.random(in: 0...40, using: &sizes) })
      #expect(cut == events, "seed \(seed)")
    }
  }
}

/// Random documents as events.
enum JSONDocuments {
  static let words = [
    "", "a", "\"", "\\", "\u{1}\n\t\u{1F}", "é", "e\u{301}", "\u{1D11E}",
    "plain ascii of some length",
    "/", "\u{7F}", "日本語のテキスト", "x\\\"y", "\u{2028}",
  ]

  static func append(
    to events: inout [JSONEvent], depth: Int, using random: inout Seeded
  ) {
    switch Int.random(in: 0...(depth > 0 ? 8 : 5), using: &random) {
    case 0: events.append(.null)
    case 1: events.append(.bool(Bool.random(using: &random)))
    case 2:
      events.append(
        .integer(
          Int64(truncatingIfNeeded: random.next() >> UInt64.random(in: 0...63, using: &random))))
    case 3:
      // Whole doubles below 2^53 come back as integers, so take none of them.
      let value = Double(bitPattern: random.next())
      events.append(value.isFinite && value != value.rounded() ? .double(value) : .double(0.5))
    case 4, 5: events.append(.string(text(using: &random)))
    case 6:
      events.append(.beginArray)
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        append(to: &events, depth: depth - 1, using: &random)
      }
      events.append(.endArray)
    default:
      events.append(.beginObject)
      for _ in 0..<Int.random(in: 0...5, using: &random) {
        events.append(.key(text(using: &random)))
        append(to: &events, depth: depth - 1, using: &random)
      }
      events.append(.endObject)
    }
  }

  static func text(using random: inout Seeded) -> String {
    (0..<Int.random(in: 0...4, using: &random)).map { _ in
      words[Int.random(in: 0..<words.count, using: &random)]
    }.joined()
  }
}

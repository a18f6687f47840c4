import ConiferDocument
import ConiferDocumentServer
import ConiferServerHTTP
import Foundation
import TestSupport
import Testing

/// Requests that nobody means.
@Suite struct DocumentRESTFuzzTests {
  private static var seed: UInt64 {
    ProcessInfo.processInfo.environment["CONIFER_SEED"].flatMap(UInt64.init)
      ?? UInt64.random(in: .min ... .max)
  }

  private static let requests = [
    (
      "POST :commit",
      #"{"writes":[{"update":{"name":"~/r/a","fields":{"n":{"integerValue":"1"},"m":{"mapValue":{"fields":{"x":{"arrayValue":{"values":[{"doubleValue":1.5},{"geoPointValue":{"latitude":1}}]}}}}},"t":{"timestampValue":"2001-02-03T04:05:06Z"}}},"updateMask":{"fieldPaths":["n","m.x"]},"updateTransforms":[{"fieldPath":"c","increment":{"integerValue":"9223372036854775807"}}],"currentDocument":{"exists":true}}],"transaction":"AAAA"}"#
    ),
    (
      "POST :batchWrite",
      #"{"writes":[{"delete":"~/r/a","currentDocument":{"updateTime":"2001-02-03T04:05:06Z"}},{"transform":{"document":"~/r/b","fieldTransforms":[{"fieldPath":"a.b","setToServerValue":1}]}}]}"#
    ),
    (
      "POST :runQuery",
      #"{"structuredQuery":{"select":{"fields":[{"fieldPath":"n"}]},"from":[{"collectionId":"r","allDescendants":false}],"where":{"compositeFilter":{"op":"OR","filters":[{"fieldFilter":{"field":{"fieldPath":"n"},"op":"IN","value":{"arrayValue":{"values":[{"integerValue":"1"}]}}}},{"unaryFilter":{"op":3,"field":{"fieldPath":"m"}}}]}},"orderBy":[{"field":{"fieldPath":"n"},"direction":"DESCENDING"}],"startAt":{"values":[{"integerValue":"3"}],"before":true},"offset":2147483647,"limit":{"value":2}},"newTransaction":{"readOnly":{"readTime":"2023-11-14T22:13:20Z"}}}"#
    ),
    (
      "POST /r/a:runAggregationQuery",
      #"{"structuredAggregationQuery":{"structuredQuery":{"from":[{"collectionId":"s"}],"offset":9223372036854775807,"limit":9223372036854775807},"aggregations":[{"alias":"c","count":{"upTo":"3"}},{"avg":{"field":{"fieldPath":"n"}}}]}}"#
    ),
    (
      "POST :batchGet",
      #"{"documents":["~/r/a","~/r/none"],"mask":{"fieldPaths":["n"]},"newTransaction":{"readWrite":{"retryTransaction":"AAAA"}}}"#
    ),
    ("POST :beginTransaction", #"{"options":{"readOnly":{"readTime":"0001-01-01T00:00:00Z"}}}"#),
    ("POST :rollback", #"{"transaction":"AAAA"}"#),
    ("POST :listCollectionIds", #"{"pageSize":2147483647,"pageToken":"AAAA"}"#),
    (
      "GET /r?pageSize=2147483647&orderBy=n%20desc&mask.fieldPaths=n&showMissing=false&pageToken=e30",
      ""
    ),
    (
      "PATCH /r/a?updateMask.fieldPaths=n&currentDocument.exists=true",
      #"{"fields":{"n":{"nullValue":null}}}"#
    ),
    ("DELETE /r/a?currentDocument.updateTime=9999-12-31T23:59:59.999999999Z", ""),
    ("GET /r/a?readTime=0001-01-01T00:00:00Z", ""), ("POST /r?documentId=__id7__", "{}"),
  ]

  private static let pieces = [
    "{", "}", "[", "]", ",", ":", "\"", "null", "0", "-1", "1e400", "9223372036854775808", "true",
    "~", "/", "%", "%2F", "%00", "..", "`", "\\", "\u{0}", "é", "😀", "{}", "[]", "\"\"",
    "9223372036854775807", "-9223372036854775808", "fields", "value", "__name__", "?", "&", "=",
  ]

  private static func changed(_ text: String, _ numbers: inout Seeded) -> String {
    var letters = Array(text)
    for _ in 0..<(1 + numbers.below(3)) where !letters.isEmpty {
      let place = numbers.below(letters.count)
      switch numbers.below(4) {
      case 0: letters.insert(contentsOf: numbers.pick(pieces), at: place)
      case 1: letters.removeSubrange(place..<min(letters.count, place + 1 + numbers.below(9)))
      case 2: letters.removeSubrange(place...)
      default:
        let other = numbers.below(letters.count)
        letters.swapAt(place, other)
      }
    }
    return String(letters)
  }

  @Test("Whatever is asked for, there is an answer that a client can read")
  func requests() async throws {
    let seed = Self.seed
    print("DocumentRESTFuzzTests: CONIFER_SEED=\(seed)")
    var numbers = Seeded(seed)
    let client = try DocumentRESTClient()
    try await client.make(["r/a": ["n": 1], "r/b": ["n": 2], "r/a/s/x": ["n": 3]])
    for round in 0..<3000 {
      var (line, body) = numbers.pick(Self.requests)
      // As they stand once, then with changes.
      if round >= 30 {
        if numbers.chance(80) { body = Self.changed(body, &numbers) }
        if numbers.chance(30) {
          let parts = line.split(separator: " ", maxSplits: 1).map(String.init)
          line = "\(parts[0]) \(Self.changed(parts[1], &numbers))"
        }
      }
      let reply = await client.ask(line, body)
      // 0: left to other responders.
      #expect(
        [0, 200, 400, 404, 409, 429, 501].contains(reply.status), "\(line) \(body): \(reply.body)")
      guard reply.status != 0 else { continue }
      let json = try? JSONSerialization.jsonObject(with: Data(reply.body.utf8))
      #expect(json != nil, "\(line) \(body): \(reply.body)")
      #expect((reply.status == 200) != reply.body.contains(#""error":{"code":"#))
    }
    #expect(await client.ask("GET /r/b").status != 500)
  }
}

import ConiferServer
import ConiferServerHTTP
import ConiferTree
import Foundation
import TestSupport
import Testing

@Suite struct RESTFuzzTests {
  private static var seed: UInt64 {
    ProcessInfo.processInfo.environment["CONIFER_SEED"].flatMap(UInt64.init)
      ?? UInt64.random(in: .min ... .max)
  }

  private static let pieces = [
    "/", "a", "b", "%", "%2F", "%2e", ".", "..", "%00", "%ff", "%C3%A9", "é", "$", "#", "[", "]",
    "%5B", ".json", ".priority", ".info", ".settings", "rules", "10", "-1", "%7f", "%25", "+", " ",
    "\u{0}", "😀", "%F0%9F%98%80", "~", "\\",
  ]

  @Test func `Whatever a path is, it is a place in the tree or refused`() async {
    let seed = Self.seed
    print("RESTFuzzTests paths: CONIFER_SEED=\(seed)")
    var numbers = Seeded(seed)
    for _ in 0..<2000 {
      let client = RESTClient()
      var path = "/"
      for _ in 0..<numbers.below(8) { path += numbers.pick(Self.pieces) }
      if numbers.below(10) > 0 { path += ".json" }
      let request = HTTPRequest(method: "PUT", path: path, body: Array("1".utf8))
      let reply = RESTReply(await client.responder.respond(to: request))
      // 0: left to other responders.
      #expect([0, 200, 400, 401, 404].contains(reply.status), "\(path): \(reply.status)")
      if reply.status == 200, path != "/.settings/rules.json" {
        // It is where its decoded segments say, and nowhere else.
        let segments = path.dropLast(5).split(separator: "/").map {
          $0.removingPercentEncoding ?? ""
        }
        var keys = segments.map { Key($0) }
        let data = client.server.data(in: "default")
        if keys.isEmpty { #expect(data == 1) }
        for key in keys { #expect((try? key.validate()) != nil, "\(path)") }
        #expect(data.leafCount == 1, "\(path)")
        #expect(data[Path(keys)] == 1, "\(path)")
        keys = []
      } else {
        #expect(client.server.data(in: "default").isEmpty, "\(path)")
      }
    }
  }

  @Test func `Whatever is asked for, there is an answer that a client can read`() async {
    let seed = Self.seed
    print("RESTFuzzTests requests: CONIFER_SEED=\(seed)")
    var numbers = Seeded(seed)
    let client = RESTClient()
    let names = [
      "orderBy", "startAt", "startAfter", "endAt", "endBefore", "equalTo", "limitToFirst",
      "limitToLast", "shallow", "print", "format", "timeout", "writeSizeLimit", "download",
      "callback", "ns", "auth", "access_token", "auth_variable_override", "x-http-method-override",
    ]
    let values = [
      "", "null", "true", "1", "-1", "1.5", "1e400", "\"$key\"", "\"$value\"", "\"$priority\"",
      "\"a\"", "\"a/b\"", "\"a\",\"b\"", "1,\"a\"", "1,2,3", "[", "]", "{\"uid\":\"x\"}", "silent",
      "pretty", "export", "10s", "tiny", "f", "f(", "\u{0}", "\"\\ud800\"", "[1]", "DELETE",
      "PATCH",
      String(repeating: "[", count: 2000), "a\r\nb: c", "é",
    ]
    let bodies = [
      "", "1", "null", "{}", #"{"a":1,"b":{"c":"x"}}"#, #"{"a/b":1}"#, "[1,2]", "{", #"{"a":"#,
      #"{".sv":"timestamp"}"#, #"{".priority":1}"#, #"{"a":{".value":1,".priority":"p"}}"#,
      String(repeating: #"{"a":"#, count: 100), #"{".sv":{"increment":1e308}}"#, "\u{FEFF}1",
      #"{"a":1,"a":2}"#, "-0", "99999999999999999999",
    ]
    let headers = [
      "x-firebase-etag": "true", "if-match": "null_etag", "if-none-match": "null_etag",
      "authorization": "Bearer x", "x-http-method-override": "PUT", "origin": "http://localhost",
    ]
    for _ in 0..<3000 {
      var query: [(name: String, value: String)] = []
      for _ in 0..<numbers.below(4) { query.append((numbers.pick(names), numbers.pick(values))) }
      var chosen: [(name: String, value: String)] = []
      for (name, value) in headers.sorted(by: { $0.key < $1.key }) where numbers.below(5) == 0 {
        chosen.append((name, value))
      }
      let request = HTTPRequest(
        method: numbers.pick(["GET", "PUT", "PATCH", "POST", "DELETE"]),
        path: numbers.pick(["/.json", "/a.json", "/a/b.json", "/a/.priority.json"]), query: query,
        headers: chosen, body: Array(numbers.pick(bodies).utf8))
      let reply = RESTReply(await client.responder.respond(to: request))
      let statuses = [200, 204, 304, 400, 401, 403, 405, 412]
      #expect(statuses.contains(reply.status), "\(request): \(reply.status)")
      for (name, value) in reply.headers {
        #expect(!(name + value).utf8.contains { $0 < 0x20 || $0 == 0x7F }, "\(request)")
      }
      if reply.headers["content-type"]?.hasPrefix("application/json") == true {
        #expect(
          (try? JSONSerialization.jsonObject(
            with: Data(reply.body.utf8), options: .fragmentsAllowed)) != nil,
          "\(request): \(reply.body)")
      }
    }
    // Nothing that was written breaks a rule of the tree.
    let data = client.server.data(in: "default")
    #expect(throws: Never.self) { try Path.root.validate(writing: data) }
  }

  @Test func `Bodies of random bytes are refused or data`() async {
    let seed = Self.seed
    print("RESTFuzzTests bodies: CONIFER_SEED=\(seed)")
    var numbers = Seeded(seed)
    let client = RESTClient()
    let text = Array(#"{"a":[1,{".value":"é",".priority":2}],"b/c":{".sv":"timestamp"}}"#.utf8)
    for _ in 0..<3000 {
      var body = text
      for _ in 0...numbers.below(4) {
        let place = numbers.below(body.count)
        switch numbers.below(3) {
        case 0: body[place] = UInt8.random(in: .min ... .max, using: &numbers)
        case 1: body.remove(at: place)
        default: body.insert(numbers.pick(text), at: place)
        }
      }
      for method in ["PUT", "PATCH", "POST"] {
        let request = HTTPRequest(method: method, path: "/x.json", body: body)
        let reply = RESTReply(await client.responder.respond(to: request))
        #expect([200, 400].contains(reply.status))
        if reply.status == 400 { #expect(reply.error != nil) }
      }
    }
    #expect(throws: Never.self) {
      try Path.root.validate(writing: client.server.data(in: "default"))
    }
  }
}

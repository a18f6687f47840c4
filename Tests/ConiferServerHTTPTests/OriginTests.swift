import Testing

@testable import ConiferServerHTTP

@Suite("Origins") struct OriginTests {
  struct Case: CustomTestStringConvertible, Sendable {
    var origins: Set<String>?
    var listening = "localhost"
    var isLoopback = true
    var origin: String?
    var host: String? = "localhost:9000"
    var site: String?
    var mode: String?
    let isAllowed: Bool

    var testDescription: String {
      "\(origin ?? "no origin") asks \(host ?? "nobody"), \(site ?? "-") \(mode ?? "-")"
    }
  }

  static let cases = [
    // Behind the loopback a name is the server's, whoever asks; over the network a program's is not
    // looked at.
    Case(host: "evil.example", isAllowed: false),
    Case(host: "evil.example:9000", site: "none", mode: "navigate", isAllowed: false),
    Case(listening: "0.0.0.0", isLoopback: false, host: "box.lan", isAllowed: true),
    Case(origins: ["http://a.example"], isAllowed: true),
    Case(origins: ["http://a.example"], host: "a.example:9000", isAllowed: true),
    Case(origins: ["http://a.example"], host: "b.example", isAllowed: false),
    // Pages of this machine, and others.
    Case(origin: "http://localhost:5173", isAllowed: true),
    Case(origin: "https://app.localhost", isAllowed: true),
    Case(origin: "http://127.0.0.1:1", isAllowed: true),
    Case(origin: "http://[::1]:8080", isAllowed: true),
    Case(origin: "http://evil.example", isAllowed: false),
    Case(origin: "http://127.0.0.1.evil.example", isAllowed: false),
    Case(origin: "http://localhost.evil.example", isAllowed: false),
    Case(origin: "http://evil.example/localhost", isAllowed: false),
    Case(origin: "null", isAllowed: false),
    // Named ones, beside the server's own page.
    Case(origins: ["http://a.example"], origin: "http://A.example", isAllowed: true),
    Case(origins: ["http://a.example"], origin: "http://localhost:5173", isAllowed: false),
    Case(origins: ["http://a.example"], origin: "http://localhost:9000", isAllowed: true),
    Case(origins: ["*"], origin: "http://evil.example", host: "evil.example", isAllowed: true),
    // A name that suddenly leads to this machine.
    Case(origin: "http://evil.example:9000", host: "evil.example:9000", isAllowed: false),
    Case(host: "evil.example:9000", site: "same-origin", mode: "cors", isAllowed: false),
    Case(host: nil, site: "same-origin", isAllowed: false),
    // Other machines know this one by its address, or by a name that was said.
    Case(
      listening: "0.0.0.0", isLoopback: false, origin: "http://10.0.0.2:9000",
      host: "10.0.0.2:9000", isAllowed: true),
    Case(
      listening: "0.0.0.0", isLoopback: false, origin: "http://box.lan:9000", host: "box.lan:9000",
      isAllowed: false),
    Case(
      origins: ["http://box.lan:9000"], listening: "0.0.0.0", isLoopback: false,
      origin: "http://box.lan:9000", host: "box.lan:9000", isAllowed: true),
    Case(
      listening: "box.lan", isLoopback: false, origin: "http://box.lan:9000", host: "box.lan:9000",
      isAllowed: true),
    // A script of another website, and a link.
    Case(site: "cross-site", mode: "no-cors", isAllowed: false),
    Case(site: "cross-site", mode: "navigate", isAllowed: true),
    Case(site: "same-site", mode: "no-cors", isAllowed: true),
    Case(site: "none", mode: "navigate", isAllowed: true),
  ]

  @Test("Websites of elsewhere are kept away", arguments: cases)
  func allows(_ asked: Case) {
    let policy = OriginPolicy(origins: asked.origins, host: asked.listening)
    let question = OriginPolicy.Question(
      isLoopback: asked.isLoopback, hosts: [asked.host].compactMap(\.self), origin: asked.origin,
      site: asked.site, mode: asked.mode)
    #expect((policy.verdict(question) == .allowed) == asked.isAllowed)
  }

  @Test(
    arguments: [
      "*", "null", "http://app.test", "http://app.test:5173", "https://App.test",
      "http://127.0.0.1:8080",
      "https://[fd00::7]:8443", "http://localhost", "capacitor://localhost",
      "chrome-extension://abcdef",
    ])
  func `An origin is named as browsers name it`(text: String) {
    #expect(OriginName.isValid(text))
  }

  @Test(
    arguments: [
      "", "example.org", "localhost:9000", "//example.org", "http:", "http://", "http://a.test/",
      "http://a.test/path", "http://a.test?x", "http://user@a.test", "http://a.test:", "http://a b",
      "http://a.test:80", "https://a.test:443", "http://a.test:65536", "http://*.a.test",
      "file:///x",
      "**", "1http://a.test", "capacitor://a/b", "app://", "http://0.0.0.0",
    ])
  func `What no browser says is no origin`(text: String) {
    #expect(!OriginName.isValid(text))
  }
}

import Testing

@testable import ConiferServerHTTP

/// The parts of a request that need no socket.
struct ValueTests {
  @Test("Targets are taken apart")
  func targets() {
    #expect(RequestTarget("/a/b.json?x=1")?.path == "/a/b.json")
    #expect(RequestTarget("/?q=%22a%26b%22&r=a=b")?.parameter("q") == "\"a&b\"")
    #expect(RequestTarget("/?q=1&r=a=b")?.parameter("r") == "a=b")
    #expect(RequestTarget("/?a+b=c+d%2B")?.parameters == [.init(name: "a b", value: "c d+")])
    #expect(RequestTarget("/a+b")?.path == "/a+b")
    #expect(RequestTarget("/a?b#c?d=e")?.parameters == [.init(name: "b", value: "")])
    #expect(RequestTarget("http://host:1/a?b=c")?.path == "/a")
    #expect(RequestTarget("HTTPS://host?b=c")?.parameter("b") == "c")
    #expect(RequestTarget("http://host")?.path == "/")
    #expect(RequestTarget("/é?🌲=é")?.parameter("🌲") == "é")
    for bad in [
      "", "a", "*", "http:///a", "ftp://h/", "/%", "/%1", "/%1g", "/%80", "/?%=1", "/?a=%C3",
    ] {
      #expect(RequestTarget(bad) == nil, "\(bad)")
    }
  }

  @Test("Databases are named by letters, digits, - and _ alone")
  func names() {
    func name(_ parameter: String?, _ host: String?) -> String? {
      NamespaceName.name(parameter: parameter, host: host, else: "default")
    }
    #expect(name("a-B_9", "x.y.z") == "a-b_9")
    #expect(name(nil, "X.y.z:80") == "x")
    #expect(NamespaceName.name(parameter: "myapp", host: nil, else: "MyApp") == "MyApp")
    #expect(name("", "x.y.z") == "x")
    #expect(name(nil, nil) == "default")
    for host in ["localhost:9000", "a.b", "127.0.0.1:80", "[::1]:80", "[a.b.c]"] {
      #expect(name(nil, host) == "default", "\(host)")
    }
    for bad in [
      "..", ".", "a/b", "a b", "é", "a\0", String(repeating: "a", count: 101), "a\\b", "a%2fb",
    ] {
      #expect(name(bad, nil) == nil, "\(bad)")
    }
    #expect(name(nil, "..a.b") == nil)
  }

  @Test(
    "Dates are written as HTTP writes them",
    arguments: [
      (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (951_782_399, "Mon, 28 Feb 2000 23:59:59 GMT"),
      (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
      (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
      (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
      (1_795_196_710, "Fri, 20 Nov 2026 17:45:10 GMT"), (-5, "Thu, 01 Jan 1970 00:00:00 GMT"),
    ] as [(Int64, String)])
  func dates(_ seconds: Int64, _ text: String) {
    #expect(HTTPDate.text(seconds) == text)
  }
}

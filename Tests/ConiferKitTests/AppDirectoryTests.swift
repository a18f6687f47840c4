import Conifer
import Testing

@testable import ConiferKit

@Suite struct `The directory of an app's database` {
  private func path(_ host: String, _ namespace: String, app: String = "app") -> String {
    var configuration = DatabaseConfiguration(namespace: namespace)
    configuration.host = host
    return AppDirectory(base: "/data", app: app).path(of: configuration)
  }

  @Test func `it is named as the app and the database`() {
    #expect(
      path("my-app.example.com", "my-app", app: "Notes")
        == "/data/%4eotes/conifer/my-app.example.com/my-app")
    #expect(path("localhost:9000", "my-app") == "/data/app/conifer/localhost%3a9000/my-app")
  }

  @Test func `no two share one, and none leaves its place`() {
    let long = String(repeating: "x", count: 200)
    let names = [
      "a", "A", "%41", "a/b", "a%2fb", "..", ".", ".a", "", "%", "+", "é", "e\u{301}", "ö/../..",
      "a b", "a+b", long, long + "+", long + "..", long + "/y", long + "y", long + long, "\u{0}",
      "ключ",
    ]
    var seen: [String: String] = [:]
    for app in names {
      for host in names where host == host.lowercased() {
        for namespace in names {
          let path = path(host, namespace, app: app)
          let name = "\(app)|\(host)|\(namespace)"
          #expect(seen.updateValue(name, forKey: path.lowercased()) == nil, "\(name) at \(path)")
          let components = path.dropFirst().split(
            separator: "/", omittingEmptySubsequences: false)
          #expect(components.allSatisfy { (1...255).contains($0.utf8.count) && $0.first != "." })
        }
      }
    }
  }

  @Test func `the XDG directory is the one that is named, or the usual one`() {
    #expect(AppDirectory.xdg(["XDG_DATA_HOME": "/x"], home: "/home/ada") == "/x")
    #expect(AppDirectory.xdg(["XDG_DATA_HOME": "x"], home: "/home/ada") == "/home/ada/.local/share")
    #expect(AppDirectory.xdg([:], home: "/home/ada") == "/home/ada/.local/share")
  }
}

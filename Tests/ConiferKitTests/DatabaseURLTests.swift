import ConiferKit
import Foundation
import Testing

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// Databases that an app has by their URLs, in processes of their own.
@Suite(.timeLimit(.minutes(10))) struct `A database with a URL` {
  @Test func `killed and started again, the app has what it wrote, each database its own`()
    async throws
  {
    let home = FileManager.default.temporaryDirectory
      .appendingPathComponent("conifer-kit-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: home) }
    await #expect(processExitsWith: .signal(SIGKILL)) { [home = home as String] in
      for name in ["one", "two", "unkept"] {
        let receipt = Self.database(name, home).reference(withPath: "name")
          .enqueue(.set("Attic \(name)"))
        _ = try await receipt.durable
      }
      kill(getpid(), SIGKILL)
    }
    await #expect(processExitsWith: .success) { [home = home as String] in
      for name in ["one", "two"] {
        let database = Self.database(name, home)
        let waiting = try await database.pendingWriteTotals().pending
        try #require(waiting == 1)
        let snapshot = try await database.reference(withPath: "name").observeSingleEvent(of: .value)
        #expect(snapshot.value as? String == "Attic \(name)")
      }
      let waiting = try await Self.database("unkept", home).pendingWriteTotals().pending
      #expect(waiting == 0)
    }
  }

  /// A database of the class whose server is not there; its data is kept but for `unkept`.
  private static func database(_ name: String, _ home: String) -> Database {
    setenv("XDG_DATA_HOME", home, 1)
    setenv("HOME", home, 1)
    let database = Database.database(url: "http://127.0.0.1:1?ns=\(name)")
    if name != "unkept" { database.isPersistenceEnabled = true }
    return database
  }
}

#if GRPC
  import ConiferDocument
  import Foundation
  import NetworkTestSupport
  import Synchronization
  import TestSupport

  /// The vendor's emulator: one process for all tests, which ends with them. Each test has a project of its own.
  final class Emulator: Sendable {
    let port: Int
    /// Its input ends with this process, and the emulator then.
    private let program: RunningProgram
    private static let lastProject = Mutex(0)

    /// Where the emulator is; nil where it is not installed, or there is no Java.
    static let jar: String? = {
      let environment = ProcessInfo.processInfo.environment
      let place = "platform/cloud-firestore-emulator/cloud-firestore-emulator.jar"
      let home = environment["HOME"] ?? ""
      let places =
        [environment["CONIFER_FIRESTORE_EMULATOR"]].compactMap { $0 }
        + [
          "/usr/lib/google-cloud-sdk/\(place)", "\(home)/google-cloud-sdk/\(place)",
          "/opt/homebrew/share/google-cloud-sdk/\(place)",
        ]
      let paths = (environment["PATH"] ?? "").split(separator: ":")
      guard paths.contains(where: { FileManager.default.isExecutableFile(atPath: "\($0)/java") })
      else {
        print("No Java for the Firestore emulator: its tests are skipped.")
        return nil
      }
      let found = places.first { FileManager.default.isReadableFile(atPath: $0) }
      if found == nil { print("No Firestore emulator: its tests are skipped.") }
      return found
    }()

    /// Whether it can be used.
    static var isInstalled: Bool { jar != nil }

    private static let running = Mutex<Emulator?>(nil)

    /// The one that all tests share, once it answers.
    static func shared() async throws -> Emulator {
      let emulator = try running.withLock { running in
        if let running { return running }
        let made = try Emulator()
        running = made
        return made
      }
      try await emulator.answers()
      return emulator
    }

    private init() throws {
      guard let jar = Self.jar else { throw Missing() }
      port = try Sockets.freePort()
      program = try RunningProgram(
        "/bin/sh",
        [
          "-c",
          "java -Duser.language=en -cp \"$0\" com.google.cloud.datastore.emulator.firestore.CloudFirestore "
            + "--host=127.0.0.1 --port=\"$1\" >/dev/null 2>&1 & "
            + "java=$!; read -r line; kill $java", jar, "\(port)",
        ], takesInput: true, output: .nowhere)
    }

    struct Missing: Error {}

    private func answers() async throws {
      let deadline = ContinuousClock.now + .seconds(120)
      while !Sockets.answers(port) {
        guard ContinuousClock.now < deadline, program.end == nil else { throw Missing() }
        try await Task.sleep(for: .milliseconds(50))
      }
    }

    /// A database that nobody else uses.
    static func database() -> DatabaseID {
      let number = lastProject.withLock { last in
        last += 1
        return last
      }
      return DatabaseID(project: "test-\(number)")
    }
  }
#endif

import ConiferFirestore
import Foundation
import Testing

@testable import ConiferKit

/// One import gives the client of documents, with a store of its own.
@Suite(.serialized, .timeLimit(.minutes(10))) struct `An app of documents` {
  @Test func `killed and started again, it has its documents and its queue`() async throws {
    let home = FileManager.default.temporaryDirectory
      .appendingPathComponent("conifer-kit-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: home, withIntermediateDirectories: true)
    let first = try GuideAppProcess(["--documents"], home)
    await first.wait(for: "none, 0 edits, sent")
    try first.type("Attic")
    await first.wait(for: "Attic, 1 edits, not sent")
    first.kill()
    let second = try GuideAppProcess(["--documents"], home)
    await second.wait(for: "Attic, 1 edits, not sent")
    try second.type("Cellar")
    await second.wait(for: "Cellar, 2 edits, not sent")
    second.kill()
    let apps = try FileManager.default.contentsOfDirectory(atPath: home.path)
    #expect(apps == AppDirectory.components("GuideApp"))
    try FileManager.default.removeItem(at: home)
  }

  @Test func `its directory is named as the app, the project and the database`() {
    func path(_ project: String, _ database: String, emulator: Bool = false) -> String {
      let firestore = Firestore(FirestoreConfiguration(projectID: project, databaseID: database))
      if emulator { firestore.useEmulator(withHost: "localhost", port: 8080) }
      return AppDirectory(base: "/data", app: "notes").path(of: firestore.configuration)
    }
    #expect(
      path("my-app", "(default)") == "/data/notes/conifer-documents/%/my-app/%28default%29")
    #expect(
      path("my-app", "second", emulator: true)
        == "/data/notes/conifer-documents/localhost%3a8080/my-app/second")
  }
}

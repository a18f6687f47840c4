import ConiferKit
import Foundation

/// An app in the lines of Firebase's guides: one import, one line to keep data. It shows a room, and
/// renames it to each line that it is given. With `--documents` the room is a document.
@main
struct GuideApp {
  static func main() {
    if CommandLine.arguments.contains("--documents") { showDocument() } else { showTree() }
  }

  private static func showTree() {
    #if Network
      // The Apple SDK reads the server from a file.
      if let url = CommandLine.arguments.dropFirst().first { Database.configure(url: url) }
    #endif
    Database.database().isPersistenceEnabled = true

    let roomRef = Database.database().reference(withPath: "rooms/r1")
    roomRef.keepSynced(true)
    roomRef.observe(.value) { snapshot in
      let room = snapshot.value as? [String: Any]
      let name = room?["name"] as? String ?? "none"
      let seats = room?["seats"] as? Int ?? 0
      FileHandle.standardOutput.write(Data("\(name), \(seats) seats\n".utf8))
    }
    while let line = readLine() {
      roomRef.child("name").setValue(line)
    }
  }

  private static func showDocument() {
    let room = Firestore.firestore().collection("rooms").document("r1")
    room.addSnapshotListener(includeMetadataChanges: true) { snapshot, _ in
      guard let snapshot else { return }
      let name = snapshot.get("name") as? String ?? "none"
      let edits = snapshot.get("edits") as? Int ?? 0
      let state = snapshot.metadata.hasPendingWrites ? "not sent" : "sent"
      FileHandle.standardOutput.write(Data("\(name), \(edits) edits, \(state)\n".utf8))
    }
    while let line = readLine() {
      room.setData(["name": line, "edits": FieldValue.increment(1)], merge: true)
    }
  }
}

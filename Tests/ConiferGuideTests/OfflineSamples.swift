// Code in the shapes that Firebase's guide "Offline capabilities on Apple platforms" shows. It is
// compiled in Swift 5 mode and in Swift 6 mode, and run by the tests beside it.
import Conifer
import Foundation

enum OfflineSamples {
  static func enablePersistence() { Database.database().isPersistenceEnabled = true }

  static func keepScores() {
    let scoresRef = Database.database().reference(withPath: "scores")
    scoresRef.keepSynced(true)
  }

  static func dropScores(_ scoresRef: DatabaseReference) { scoresRef.keepSynced(false) }

  static func highScores(
    _ scoresRef: DatabaseReference, _ count: UInt, _ tell: @escaping (String) -> Void
  ) {
    scoresRef.queryOrderedByValue().queryLimited(toLast: count).observe(.childAdded) { snapshot in
      tell("The \(snapshot.key) dinosaur's score is \(snapshot.value ?? "null")")
    }
  }

  static func leaveMessage() {
    let presenceRef = Database.database().reference(withPath: "disconnectmessage")
    presenceRef.onDisconnectSetValue("I disconnected!")
  }

  static func removeOnDisconnect(
    _ presenceRef: DatabaseReference, _ tell: @escaping (String) -> Void
  ) {
    presenceRef.onDisconnectRemoveValue { error, reference in
      if let error = error {
        tell("Could not establish onDisconnect event: \(error)")
      } else {
        tell("established at \(reference.key ?? "")")
      }
    }
  }

  static func changeMind(_ presenceRef: DatabaseReference) {
    presenceRef.onDisconnectSetValue("I disconnected")
    presenceRef.cancelDisconnectOperations()
  }

  static func watchConnection(_ database: Database, _ tell: @escaping (String) -> Void) {
    let connectedRef = database.reference(withPath: ".info/connected")
    connectedRef.observe(
      .value,
      with: { snapshot in
        if snapshot.value as? Bool ?? false {
          tell("Connected")
        } else {
          tell("Not connected")
        }
      })
  }

  static func noteLastOnline(_ database: Database) {
    let userLastOnlineRef = database.reference(withPath: "users/morgan/lastOnline")
    userLastOnlineRef.onDisconnectSetValue(ServerValue.timestamp())
  }

  static func watchSkew(_ database: Database, _ tell: @escaping (Double) -> Void) {
    let offsetRef = database.reference(withPath: ".info/serverTimeOffset")
    offsetRef.observe(
      .value,
      with: { snapshot in
        if let offset = snapshot.value as? TimeInterval {
          tell(Date().timeIntervalSince1970 * 1000 + offset)
        }
      })
  }

  static func presence(_ database: Database) {
    let myConnectionsRef = database.reference(withPath: "users/morgan/connections")
    let lastOnlineRef = database.reference(withPath: "users/morgan/lastOnline")
    let connectedRef = database.reference(withPath: ".info/connected")
    connectedRef.observe(
      .value,
      with: { snapshot in
        guard let connected = snapshot.value as? Bool, connected else { return }
        let con = myConnectionsRef.childByAutoId()
        con.onDisconnectRemoveValue()
        con.setValue(true)
        lastOnlineRef.onDisconnectSetValue(ServerValue.timestamp())
      })
  }
}

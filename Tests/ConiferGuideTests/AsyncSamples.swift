// What the guides show, in async functions, where the same calls are awaited. It is compiled in Swift 5
// mode and in Swift 6 mode, and run by the tests beside it.
import Conifer
import Foundation

/// A class as apps have it: not Sendable, and used by one task.
final class AsyncBlog {
  let ref: DatabaseReference
  var runs = 0

  init(_ database: Database) { ref = database.reference() }

  func addUser(_ uid: String, name: String) async throws {
    try await self.ref.child("users").child(uid).setValue(["username": name])
  }

  func addUserAndTell(_ uid: String, name: String) async -> String {
    do {
      let saved = try await ref.child("users").child(uid).setValue(["username": name])
      return "Saved at \(saved.key ?? "")"
    } catch {
      return "Not saved: \(error)."
    }
  }

  /// A block is a block in async code too: the call returns at once.
  func addUserWithBlock(_ uid: String, name: String, _ tell: @escaping (String) -> Void) async {
    ref.child("users").child(uid).setValue(["username": name]) {
      (error: Error?, ref: DatabaseReference) in
      tell(error == nil ? "Saved at \(ref.key ?? "")" : "Not saved")
    }
    ref.child("log").child(uid).setValue("added", andPriority: 1) { _, _ in }
    ref.child("online").child(uid).onDisconnectSetValue(false) {
      (error: Error?, ref: DatabaseReference) in
      tell(error == nil ? "Arranged at \(ref.key ?? "")" : "Not arranged")
    }
    ref.child("log/old").removeValue { _, _ in }
    ref.child("log").updateChildValues(["new": 1]) { _, _ in }
    ref.child("log").setPriority(2) { _, _ in }
  }

  func readNameOnce(_ uid: String) async throws -> String {
    let snapshot = try await ref.child("users").child(uid).observeSingleEvent(of: .value)
    let value = snapshot.value as? NSDictionary
    return value?["username"] as? String ?? ""
  }

  func publish(_ title: String, by userID: String) async throws -> String? {
    guard let key = ref.child("posts").childByAutoId().key else { return nil }
    let post = ["uid": userID, "title": title, "body": "…"]
    let childUpdates = ["/posts/\(key)": post, "/user-posts/\(userID)/\(key)/": post]
    try await ref.updateChildValues(childUpdates)
    return key
  }

  func unpublish(_ key: String, of userID: String) async throws {
    try await ref.child("user-posts").child(userID).child(key).removeValue()
    try await ref.updateChildValues(["posts/\(key)": NSNull()])
  }

  func star(_ post: String, by uid: String) async throws -> Bool {
    let (committed, snapshot) = try await ref.child("posts").child(post).runTransactionBlock {
      (currentData: MutableData) -> TransactionResult in
      self.runs += 1
      if var post = currentData.value as? [String: AnyObject] {
        var stars: [String: Bool]
        stars = post["stars"] as? [String: Bool] ?? [:]
        stars[uid] = true
        post["stars"] = stars as AnyObject?
        post["starCount"] = stars.count as AnyObject?
        currentData.value = post
      }
      return TransactionResult.success(withValue: currentData)
    }
    return committed && snapshot.hasChild("stars/\(uid)")
  }

  func beOnline(_ uid: String) async throws {
    let connection = ref.child("users/\(uid)/connections").childByAutoId()
    try await connection.onDisconnectRemoveValue()
    try await connection.setValue(true)
    try await ref.child("users/\(uid)/lastOnline").onDisconnectSetValue(ServerValue.timestamp())
    try await ref.child("users/\(uid)").onDisconnectUpdateChildValues(["away": true])
    try await ref.child("users/\(uid)/away").cancelDisconnectOperations()
    try await ref.child("users/\(uid)/rank").setValue(1, andPriority: ServerValue.timestamp())
  }

  /// Closures that are not async have the forms that return at once.
  func renameAll(_ uids: [String]) async {
    uids.forEach { ref.child("users/\($0)/username").setValue("renamed") }
    let clear = { (uid: String) in self.ref.child("drafts").child(uid).removeValue() }
    _ = clear("u1")
  }

  /// A task is async code.
  func renameInATask(_ uid: String, to name: String) -> Task<Void, any Error> {
    let place = ref.child("users/\(uid)/username")
    return Task { try await place.setValue(name) }
  }
}

/// A class of the main actor, as view models are; its database calls back on the main queue.
@MainActor
final class AsyncScreen {
  let database: Database
  var title = ""
  var runs = 0

  init(_ configuration: DatabaseConfiguration) {
    database = Database(configuration)
    database.callbackQueue = .main
  }

  func load() async throws -> Int? {
    let ref = database.reference(withPath: "post")
    try await ref.child("title").setValue("T")
    title = try await ref.child("title").observeSingleEvent(of: .value).value as? String ?? ""
    let (_, snapshot) = try await ref.child("stars").runTransactionBlock { data in
      self.runs += 1
      data.value = (data.value as? Int ?? 0) + 1
      return TransactionResult.success(withValue: data)
    }
    return snapshot.value as? Int
  }
}

// Code in the shapes that Firebase's guide "Read and write data on Apple platforms" shows. It is
// compiled in Swift 5 mode and in Swift 6 mode, and run by the tests beside it.
// swift-format-ignore-file: NeverForceUnwrap, NeverUseImplicitlyUnwrappedOptionals

import Conifer
import Foundation

/// A class as apps have it: not Sendable, with the implicitly unwrapped members of the guide.
final class BlogScreen {
  var ref: DatabaseReference!
  var refHandle: DatabaseHandle!
  var titles: [String] = []
  var shownName = ""
  var message = ""

  init() { ref = Database.database().reference() }

  func addUser(_ uid: String, name: String) {
    self.ref.child("users").child(uid).setValue(["username": name])
  }

  func rename(_ uid: String, to name: String) {
    self.ref.child("users/\(uid)/username").setValue(name)
  }

  func addUserAndTell(_ uid: String, name: String) {
    ref.child("users").child(uid).setValue(["username": name]) {
      (error: Error?, ref: DatabaseReference) in
      if let error = error {
        self.message = "Not saved: \(error)."
      } else {
        self.message = "Saved at \(ref.key ?? "")"
      }
    }
  }

  func watchTitle(of post: String) {
    let postRef = ref.child("posts").child(post)
    refHandle = postRef.observe(
      DataEventType.value,
      with: { snapshot in
        let post = snapshot.value as? [String: AnyObject] ?? [:]
        self.titles.append(post["title"] as? String ?? "none")
      })
  }

  func stopWatching(_ post: String) {
    ref.child("posts").child(post).removeObserver(withHandle: refHandle)
  }

  func readNameFromServer(_ uid: String, _ done: @escaping () -> Void) {
    ref.child("users/\(uid)/username").getData(completion: { error, snapshot in
      guard error == nil else {
        print(error!.localizedDescription)
        self.message = error!.localizedDescription
        done()
        return
      }
      self.shownName = snapshot.value as? String ?? "Unknown"
      done()
    })
  }

  func readNameOnce(_ uid: String?, _ done: @escaping () -> Void) {
    ref.child("users").child(uid!).observeSingleEvent(
      of: .value,
      with: { snapshot in
        let value = snapshot.value as? NSDictionary
        let username = value?["username"] as? String ?? ""
        self.shownName = username
        done()
      }
    ) { error in
      self.message = error.localizedDescription
      done()
    }
  }

  func publish(_ title: String, by userID: String) -> String? {
    guard let key = ref.child("posts").childByAutoId().key else { return nil }
    let post = ["uid": userID, "title": title, "body": "…"]
    let childUpdates = ["/posts/\(key)": post, "/user-posts/\(userID)/\(key)/": post]
    ref.updateChildValues(childUpdates)
    return key
  }

  func removeUsers(_ one: String, _ other: String) {
    ref.child("users").child(one).removeValue()
    ref.child("users").child(other).setValue(nil)
  }

  func unpublish(_ key: String, of userID: String) {
    ref.updateChildValues(["posts/\(key)": NSNull(), "user-posts/\(userID)/\(key)": NSNull()])
  }

  func star(_ post: String, by userID: String?, _ done: @escaping (Bool) -> Void) {
    let ref = self.ref.child("posts").child(post)
    ref.runTransactionBlock({ (currentData: MutableData) -> TransactionResult in
      if var post = currentData.value as? [String: AnyObject],
        let uid = userID
      {
        var stars: [String: Bool]
        stars = post["stars"] as? [String: Bool] ?? [:]
        var starCount = post["starCount"] as? Int ?? 0
        if let _ = stars[uid] {
          starCount -= 1
          stars.removeValue(forKey: uid)
        } else {
          starCount += 1
          stars[uid] = true
        }
        post["starCount"] = starCount as AnyObject?
        post["stars"] = stars as AnyObject?
        currentData.value = post
        return TransactionResult.success(withValue: currentData)
      }
      return TransactionResult.success(withValue: currentData)
    }) { error, committed, snapshot in
      if let error = error {
        print(error.localizedDescription)
      }
      done(committed)
    }
  }

  func starByIncrement(_ postID: String, by userID: String) {
    let updates =
      [
        "posts/\(postID)/stars/\(userID)": true,
        "posts/\(postID)/starCount": ServerValue.increment(1),
        "user-posts/\(postID)/stars/\(userID)": true,
        "user-posts/\(postID)/starCount": ServerValue.increment(1),
      ] as [String: Any]
    Database.database().reference().updateChildValues(updates)
  }
}

/// A class of the main actor, as view controllers are; its database calls back on the main queue.
@MainActor
final class MainActorScreen {
  let database: Database
  var title = ""
  var stars = 0

  init(_ configuration: DatabaseConfiguration) {
    database = Database(configuration)
    database.callbackQueue = .main
  }

  func watch(_ shown: @escaping () -> Void) {
    let ref = database.reference(withPath: "post")
    ref.child("title").observe(.value) { snapshot in
      self.title = snapshot.value as? String ?? ""
      shown()
    }
    ref.child("stars").runTransactionBlock({ data in
      data.value = (data.value as? Int ?? 0) + 1
      return TransactionResult.success(withValue: data)
    }) { _, committed, snapshot in
      self.stars = snapshot?.value as? Int ?? 0
    }
    ref.child("title").setValue("T") { error, _ in
      if error != nil { self.title = "not saved" }
    }
  }
}

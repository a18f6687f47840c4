// Who the app and its user are to the server.
extension Firestore {
  /// Tells the database that somebody signed in or out, so that it asks the token provider anew.
  ///
  /// What the app writes after the call, at once and on any thread, is written as who is signed in then: it
  /// waits until the provider has answered. Until then, listeners and gets show the waiting writes of who
  /// was signed in before.
  public func tokenDidChange() {
    do throws(FirestoreError) {
      try engine().tokenDidChange()
    } catch {
      report(error)
    }
  }

  /// Tells the database that the app has another token of its own, so that it asks the transport's `AppCheckProvider` anew.
  ///
  /// Streams that are open go on under the old token; those that begin after the call, and requests, show the new one
  /// as soon as the provider has given it.
  public func appCheckTokenDidChange() {
    do throws(FirestoreError) {
      try engine().appCheckTokenDidChange()
    } catch {
      report(error)
    }
  }
}

import ConiferKeyValue
import ConiferStorage
import Logging

/// Declares indexes when queries show that they would help, if the app wants that.
final class IndexCreation {
  var isOn = false
  private let store: DocumentStore
  private let logger: Logger

  init(_ store: DocumentStore, _ logger: Logger) {
    self.store = store
    self.logger = logger
  }

  /// A query was answered.
  func consider(_ answer: DocumentAnswer) {
    guard isOn, let index = answer.worthwhileIndex else { return }
    do throws(StoreError) {
      try store.commit([.documents(store.tree, [.addIndexes([index])])])
      logger.info("an index was declared", metadata: ["index": "\(index)"])
    } catch {
      // Queries are answered all the same, only slower.
      store.log("an index is not kept", error)
    }
  }
}

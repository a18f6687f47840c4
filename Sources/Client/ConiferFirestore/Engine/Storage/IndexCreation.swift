import ConiferKeyValue
import ConiferStorage
import Logging

/// Declares indexes when queries show that they would help, if the app wants that; else the log names each once.
final class IndexCreation {
  var isOn = false
  /// The indexes that the log was told of.
  private var named: Set<String> = []
  /// The most indexes that are named: an app may make ever other queries.
  private static let mostNamed = 100
  private let store: DocumentStore
  private let logger: Logger

  init(_ store: DocumentStore, _ logger: Logger) {
    self.store = store
    self.logger = logger
  }

  /// A query was answered.
  func consider(_ answer: DocumentAnswer) {
    guard let index = answer.worthwhileIndex else { return }
    guard isOn else { return name(index) }
    do throws(StoreError) {
      try store.commit([.documents(store.tree, [.addIndexes([index])])])
      logger.info("an index was declared", metadata: ["index": "\(index)"])
    } catch {
      // Queries are answered all the same, only slower.
      store.log("an index is not kept", error)
    }
  }

  private func name(_ index: DocumentIndex) {
    guard named.count < Self.mostNamed, named.insert("\(index)").inserted else { return }
    logger.info(
      "a query looked at many documents that an index would have passed over",
      metadata: ["index": "\(index)", "remedy": "Declare the index with setIndexConfiguration."])
  }
}

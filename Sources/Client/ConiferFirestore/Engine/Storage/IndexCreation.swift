import ConiferKeyValue
import ConiferStorage
import Logging

/// Declares indexes when queries show that they would help, if the app wants that; else the log names each once.
final class IndexCreation {
  var isOn = false
  /// The indexes that the log was told of.
  private var named: Set<DocumentIndex> = []
  /// The indexes that the store has refused: each further answer would try them again.
  private var refused: Set<DocumentIndex> = []
  /// The most indexes that are named, and that are tried in vain: an app may make ever other queries.
  private static let most = 100
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
    guard refused.count < Self.most, !refused.contains(index) else { return }
    do throws(StoreError) {
      try store.declare(.addIndexes([index]))
      logger.info("an index was declared", metadata: ["index": "\(index)"])
    } catch {
      // Queries are answered all the same, only slower.
      refused.insert(index)
      store.log("an index is not kept", error)
    }
  }

  private func name(_ index: DocumentIndex) {
    guard named.count < Self.most, named.insert(index).inserted else { return }
    logger.info(
      "a query looked at many documents that an index would have passed over",
      metadata: ["index": "\(index)", "remedy": "Declare the index with setIndexConfiguration."])
  }
}

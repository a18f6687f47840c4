import ConiferDocument
import ConiferStorage
import ConiferWire

extension MutationBatch {
  /// A placeholder for a batch that a later version queued or whose content is lost.
  static let unreadable = MutationBatch(written: .zero, bases: [], mutations: [])

  /// The documents that the batch writes, each once.
  var writtenPaths: [DocumentPath] {
    var known: Set<DocumentPath> = []
    return mutations.map(\.path).filter { known.insert($0).inserted }
  }

  /// A document as it is once the server has accepted the batch.
  ///
  /// - Parameters:
  ///   - base: the document as the server last sent it.
  ///   - places: which of the writes are to it.
  ///   - commitTime: when the server accepted the batch.
  ///   - results: what it made of each write.
  /// - Returns: nil when the client has a newer document already.
  func acknowledged(
    _ base: Document, at places: [Int], _ commitTime: ConiferDocument.Timestamp,
    _ results: [WriteResult]
  ) -> Document? {
    func result(_ index: Int) -> WriteResult? {
      results.indices.contains(index) ? results[index] : nil
    }
    let version = places.last.flatMap { result($0)?.updateTime } ?? commitTime
    guard base.version < version else { return nil }
    var document = base
    for index in places {
      let (mutation, result) = (mutations[index], result(index))
      do throws(DocumentError) {
        document = try mutation.acknowledged(
          on: document, updateTime: result?.updateTime, commitTime: commitTime,
          results: result?.transforms ?? [])
      } catch {
        // The server's answer does not say what the fields are now; the next listen does.
        document = Document(
          base.path, .unknown, version: version, readTime: commitTime, writes: .committed)
      }
    }
    return document.state == .unseen ? nil : document
  }
}

import ConiferDocument
import ConiferKeyValue

/// The documents as the server sent them, read at the same moment as their indexes.
protocol DocumentSource {
  /// What is stored at some paths, by their places; nil where nothing is.
  func documents(_ paths: [DocumentPath]) throws(StoreError) -> [Document?]

  /// Visits what is stored of a target's collection in the order of ids, or of its group in any order; documents
  /// that do not match are visited as nil.
  ///
  /// - Parameters:
  ///   - first: the least path; nil for the first document.
  ///   - last: the greatest path; nil for the last document.
  ///   - isReversed: whether it begins with the last one.
  ///   - visit: says whether to go on.
  func walk(
    _ target: DocumentTarget, from first: DocumentPath?, through last: DocumentPath?,
    isReversed: Bool, _ visit: (Document?) throws(StoreError) -> Bool
  ) throws(StoreError)
}

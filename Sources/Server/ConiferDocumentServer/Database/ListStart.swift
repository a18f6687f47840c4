import ConiferDocument
import ConiferKeyValue
import ConiferStorage

/// Where a page of a list begins.
struct ListStart {
  /// The last document of the page before, in a list that does not tell its place.
  struct Last {
    let path: DocumentPath
    let version: Timestamp
  }

  /// The list, from the page's beginning unless there is a last document.
  let query: DocumentQuery
  private let last: Last?

  init(_ query: DocumentQuery, after last: Last? = nil) {
    self.query = query
    self.last = last
  }

  /// The list from the page's beginning; nil when the last document was changed, so that its place is unknown.
  func query(_ view: DatabaseStore.DatabaseView, _ share: ReadShare) throws(StoreError)
    -> DocumentQuery?
  {
    guard let last else { return query }
    let document = try view.document(last.path)
    guard share.claim(document.memory) else { throw ReadAllowance.exceeded }
    guard document.fields != nil, document.version == last.version else { return nil }
    do throws(DocumentError) { return try query.starting(after: document) } catch { return nil }
  }
}

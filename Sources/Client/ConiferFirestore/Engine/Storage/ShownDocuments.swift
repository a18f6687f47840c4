import ConiferDocument
import ConiferKeyValue
import ConiferStorage

/// Documents with a user's waiting writes, as far as this version knows what these do.
struct ShownDocuments {
  var known: [Document] = []
  /// Documents that cannot be shown, because this version cannot read what waiting writes do to
  /// them.
  var unknown: [DocumentPath] = []
}

extension DocumentView {
  /// Documents with the waiting writes of a lane.
  func shown(
    _ paths: some Sequence<DocumentPath>, to lane: Lane
  ) throws(StoreError) -> ShownDocuments {
    var shown = ShownDocuments()
    for path in paths {
      do throws(StoreError) { shown.known.append(try document(lane, path)) } catch {
        guard error.code == .newerFormat else { throw error }
        shown.unknown.append(path)
      }
    }
    return shown
  }
}

package import ConiferKeyValue

/// Keeps something in step with the leaves of a tree, as an index.
package protocol LeafFollower: AnyObject {
  /// Takes note of the leaves in `low ..< high`, before others take their place.
  func willReplace(
    _ low: Bytes, _ high: Bytes, with new: EntryList, in editor: RunEditor
  ) throws(StoreError)
  /// Follows, once all changes are made.
  func flush(_ editor: RunEditor) throws(StoreError)
}

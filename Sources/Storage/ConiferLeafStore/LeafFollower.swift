package import ConiferKeyValue

/// Follows the changes of a tree's leaves, as indexes do.
package protocol LeafFollower: AnyObject {
  /// Called before the leaves in `low ..< high` are replaced.
  func willReplace(
    _ low: Bytes, _ high: Bytes, with new: EntryList, in editor: RunEditor
  ) throws(StoreError)
  /// Called once all changes are made.
  func flush(_ editor: RunEditor) throws(StoreError)
}

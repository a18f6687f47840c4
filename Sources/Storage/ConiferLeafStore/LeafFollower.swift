package import ConiferKeyValue

/// Is updated with a tree's leaves within a commit, as indexes are.
package protocol LeafFollower: AnyObject {
  /// Called before the leaves in `low ..< high` are replaced.
  func willReplace(
    _ low: Bytes, _ high: Bytes, with new: EntryList, in editor: RunEditor
  ) throws(StoreError)
  /// Called before an entry is stored in the place of the one with its key.
  ///
  /// - Parameters:
  ///   - index: the entry's place among those that are stored.
  ///   - old: the place of the one with its key in its run; nil when there is none.
  ///   - run: that run.
  func willPut(
    _ index: Int, of new: EntryList, over old: Int?, of run: LoadedRun, in editor: RunEditor
  ) throws(StoreError)
  /// Called once all changes are made.
  func flush(_ editor: RunEditor) throws(StoreError)
}

extension LeafFollower {
  package func willPut(
    _ index: Int, of new: EntryList, over old: Int?, of run: LoadedRun, in editor: RunEditor
  ) throws(StoreError) {
    let key = new.key(index)
    try willReplace(key, key + [0], with: new, in: editor)
  }
}

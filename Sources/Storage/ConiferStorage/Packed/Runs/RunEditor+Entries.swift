import ConiferKeyValue

extension RunEditor: EntrySource {
  func place(coveringOrAfter key: Bytes) throws(StoreError) -> RunPlace? {
    if let head = try reader.run(covering: key) { return RunPlace(head) }
    if hasUnstoredFirst { return RunPlace(first: StoreKey.prefix(tree)) }
    return try reader.run(after: nil).map { RunPlace($0) }
  }

  func place(after place: RunPlace) throws(StoreError) -> RunPlace? {
    try reader.run(after: place.storeKey).map { RunPlace($0) }
  }

  /// The entries of a run with the edits so far.
  func entries(_ place: RunPlace) throws(StoreError) -> EntryList {
    try load(place.storeKey).entries
  }
}

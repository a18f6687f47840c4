import ConiferKeyValue
import ConiferLeafStore

extension TreeReader {
  /// Runs a read. When it meets damage, it throws the key of the misplaced run, if there is one,
  /// since a misplaced run makes the intact runs after it look damaged.
  func locating<R>(
    _ key: Bytes, _ body: () throws(StoreError) -> R
  ) throws(StoreError) -> R {
    do throws(StoreError) {
      return try body()
    } catch {
      guard error.code == .damaged, error.place?.space == Spaces.runs.id else { throw error }
      let end = key + [PathKey.endMark]
      var head = try runs.run(coveringOrAfter: key)
      while let run = head, bytesPrecede(run.separator, end) {
        if let found = try runs.misplaced(run) { throw Damage.error(Spaces.runs, found.storeKey) }
        head = try runs.run(after: run.storeKey)
      }
      throw error
    }
  }
}

internal import ConiferKeyValue
internal import ConiferStorage

/// What a view of a stream holds: the number of its newest commit, and what is wrong behind that.
struct StreamState {
  let number: Int
  let failure: (any Error)?
}

/// Streams of one caller, whose commits keep their number, and what the store held before, as metadata.
extension CrashWorkload {
  /// Reads the newest commit of a stream, and checks what a view holds behind it.
  ///
  /// - Parameters:
  ///   - tree: the tree's name.
  ///   - metadata: the name of the bytes that begin with the commit's number.
  ///   - check: gets the tree, the number, and the bytes behind it.
  /// - Throws: what a read does, so that the backend may repair the damage and report it.
  func newest(
    in view: any StorageView, _ tree: String, _ metadata: String,
    _ check: (TreeID, Int, Bytes) throws -> Void
  ) throws(StoreError) -> StreamState {
    guard let tree = try view.trees().first(where: { $0.name == tree })?.id,
      let bytes = try view.metadata(tree, metadata)
    else { return StreamState(number: 0, failure: nil) }
    let number = bytes.prefix(8).reduce(0) { $0 << 8 | Int($1) }
    do {
      try check(tree, number, Bytes(bytes.dropFirst(8)))
    } catch let error as StoreError {
      throw error
    } catch {
      return StreamState(number: number, failure: error)
    }
    return StreamState(number: number, failure: nil)
  }

  /// Requires that a stream's state lies within the bounds, and that its backend is sound.
  ///
  /// - Returns: the number of the newest commit, as `held(by:)` does.
  func requireSound(
    _ state: StreamState, _ backend: any StorageBackend, _ bounds: CrashBounds?
  ) throws -> [Int] {
    try bounds?.require([state.number], of: words)
    if let failure = state.failure { throw failure }
    try backend.requireExactUsage()
    try backend.requireSound()
    return [state.number]
  }
}

internal import ConiferKeyValue

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// How far a store was synced: the number of its newest commit that survives power loss.
struct SyncMark: Equatable {
  /// How many bytes tell a store from others.
  static let identityLength = 16
  private static let title = Bytes("synced 1".utf8)

  let store: Bytes
  let commit: UInt64

  init(store: Bytes, commit: UInt64) {
    self.store = store
    self.commit = commit
  }

  /// Reads a mark; nil for what was torn, changed, or never one.
  init?(_ bytes: Bytes) {
    let start = Self.title.count
    let end = start + Self.identityLength
    guard bytes.count == end + 16, bytes.starts(with: Self.title) else { return nil }
    self.init(store: Bytes(bytes[start..<end]), commit: Self.number(bytes[end..<end + 8]))
    guard self.bytes == bytes else { return nil }
  }

  /// The title, the store, the number and the XXH64 of them all.
  var bytes: Bytes {
    let text = Self.title + store + Self.bytes(commit)
    return text + Self.bytes(XXHash64.hash(text, seed: 0))
  }

  private static func bytes(_ number: UInt64) -> Bytes {
    (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
  }

  private static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reduce(0) { $0 << 8 | UInt64($1) }
  }
}

/// The file of a ``SyncMark`` beside a store's own. It is never synced: what a power cut leaves of it is
/// a mark of before, or none.
struct SyncMarkFile {
  static let name = "synced"

  private let path: String
  private var file: Int32 = -1

  init(in directory: String) { path = "\(directory)/\(Self.name)" }

  /// The mark, if there is one that can be read.
  func read() -> SyncMark? {
    guard let bytes = Platform.read(path, limit: 64) else { return nil }
    return SyncMark(bytes)
  }

  /// Replaces the mark. A failure is ignored: an older mark, or none, is never wrong.
  mutating func write(_ mark: SyncMark) {
    if file < 0 { file = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600) }
    guard file >= 0 else { return }
    let bytes = mark.bytes
    if pwrite(file, bytes, bytes.count, 0) != bytes.count { ftruncate(file, 0) }
  }

  /// Closes the file, which the next write opens again.
  mutating func close() {
    guard file >= 0 else { return }
    Platform.close(file)
    file = -1
  }
}

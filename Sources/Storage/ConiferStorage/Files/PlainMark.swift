package import ConiferKeyValue

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// The empty file in a store's directory by which its owner tells other processes that it is kept without encryption,
/// also where they cannot read it.
///
/// It is never synced: without it they look for themselves, or refuse.
enum PlainMark {
  static let name = "plain"

  private static func path(_ directory: String) -> String { "\(directory)/\(name)" }

  /// Whether the owner has said so.
  static func isSet(in directory: String) -> Bool { access(path(directory), F_OK) == 0 }

  static func set(in directory: String) {
    guard !isSet(in: directory) else { return }
    let file = open(path(directory), O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    if file >= 0 { Platform.close(file) }
  }

  /// Removes the mark of an earlier store in the same place, durably.
  ///
  /// - Throws: `denied`, `full`, `io`.
  static func remove(from directory: String) throws(StoreError) {
    let path = path(directory)
    guard !Directory.isMissing(path) else { return }
    guard unlink(path) == 0 || errno == ENOENT else {
      throw Platform.error(errno, "remove", path)
    }
    try Platform.syncDirectory(directory)
  }
}

extension StorageConfiguration {
  /// Has other processes no longer take the store for one without encryption; to be called before an encrypted one is
  /// opened.
  ///
  /// - Throws: `denied`, `full`, `io`; they may take it for that then.
  package func willEncrypt() throws(StoreError) {
    guard options.encryption != nil, let root else { return }
    try PlainMark.remove(from: root)
  }

  /// Tells other processes that the open store is kept without encryption, if it is.
  package func tellPlain() {
    guard options.encryption == nil, let root else { return }
    PlainMark.set(in: root)
  }

  /// Whether the owner says that the store is kept without encryption.
  package var isToldPlain: Bool {
    options.encryption == nil && root.map { PlainMark.isSet(in: $0) } ?? false
  }

  /// Whether there is surely no directory of a store.
  package var isMissing: Bool { root.map { Directory.isMissing($0) } ?? false }
}

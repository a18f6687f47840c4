public import ConiferKeyValue

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// Bytes set aside in a file of their own, which a store gives to a full disk so that it can still be
/// opened, drained and evicted from.
///
/// A store gives them up for a batch that makes room (`Batch.makesRoom`), never for one that only
/// grows it.
public struct SpaceReserve: Sendable {
  /// The file, `reserve` in the store's directory.
  public let path: String
  /// How many bytes; 0 for none.
  public let bytes: Int
  /// Whether they are there.
  public private(set) var isHeld: Bool

  /// Looks for the reserve of a directory; sets nothing aside.
  ///
  /// - Parameters:
  ///   - directory: the store's, without a slash at its end.
  ///   - bytes: how many are to be set aside; 0 for none.
  public init(in directory: String, bytes: Int) {
    path = directory + "/reserve"
    self.bytes = max(0, bytes)
    isHeld = self.bytes > 0 && Self.length(path) >= self.bytes
  }

  /// The bytes that the file takes.
  public var length: Int { isHeld ? bytes : 0 }

  /// Creates the reserve if it is missing. A failure for another reason than a full disk is
  /// ignored.
  ///
  /// - Returns: false when the disk has no room for them.
  public mutating func set() -> Bool {
    guard bytes > 0, !isHeld else { return true }
    let number = Self.make(path, bytes)
    isHeld = number == 0
    if isHeld { return true }
    unlink(path)
    return !Platform.meansFull(number)
  }

  /// Gives the bytes back to the disk.
  ///
  /// - Returns: whether there were any.
  public mutating func release() -> Bool {
    guard isHeld, unlink(path) == 0 || errno == ENOENT else { return false }
    isHeld = false
    return true
  }

  private static func make(_ path: String, _ bytes: Int) -> Int32 {
    let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard file >= 0 else { return errno }
    defer { Platform.close(file) }
    return Platform.allocate(file, bytes)
  }

  private static func length(_ path: String) -> Int {
    var info = stat()
    return stat(path, &info) == 0 ? Int(info.st_size) : 0
  }
}

extension Batch {
  /// Whether the batch makes room, or is a step towards that, so that it may use the reserve: it is
  /// marked so, or has no put.
  public var makesRoom: Bool {
    frees
      || !edits.isEmpty
        && edits.allSatisfy { edit in
          if case .put = edit { false } else { true }
        }
  }
}

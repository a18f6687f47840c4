internal import ConiferKeyValue

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// Who has a store open, as it is seen from outside: neither the lock's file nor the store is changed.
package enum StoreOwner: Sendable, Equatable {
  /// Nobody. Who had it last has closed it, or there never was anybody.
  case nobody
  /// Nobody. The process that had it last was killed, or it trapped.
  case leftBehind(process: Int32)
  /// A process, whose number is not always known.
  ///
  /// - Parameters:
  ///   - program: its name, where the system says it.
  ///   - isRunning: whether the process that the file names runs. If not, another one has its lock, such as
  ///     its child, or it runs where this process does not see it, as in another container.
  case process(Int32?, program: String?, isRunning: Bool)

  /// Whether somebody has the store open.
  package var isOpen: Bool { if case .process = self { true } else { false } }

  /// Tells who has the store in a directory open. If nobody has, nobody can open it until the closure has
  /// returned, so that its files can be copied.
  ///
  /// - Throws: `denied` and `io`, and what the closure throws.
  package static func look<R>(
    in directory: String, _ body: (StoreOwner) throws -> R
  ) throws -> R {
    let path = directory + "/owner"
    guard !Directory.isMissing(path) else { return try body(.nobody) }
    // Whatever has that name, opening it must not wait.
    let file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard file >= 0 else { throw Platform.error(errno, "open the lock file", path) }
    defer { Platform.close(file) }
    let number = OwnerLock.lock(file, isShared: true)
    guard let bytes = Platform.read(file, at: 0, limit: 512) else {
      throw Platform.error(errno, "read the lock file", path)
    }
    let text = OwnerText(bytes)
    guard number == 0 else {
      guard number == EWOULDBLOCK || number == EAGAIN || number == EACCES else {
        throw Platform.error(number, "lock", path)
      }
      return try body(owner(text))
    }
    // As the owner's lock: a program that is just being started must not keep it.
    defer { OwnerLock.unlock(file) }
    return try body(text.pid.map { .leftBehind(process: $0) } ?? .nobody)
  }

  /// The owner that a file names whose lock is held.
  private static func owner(_ text: OwnerText) -> StoreOwner {
    guard let pid = text.pid else { return .process(nil, program: nil, isRunning: true) }
    // Only the process that wrote the file is meant, not a later one with its number.
    let isAlive = kill(pid, 0) == 0 || errno == EPERM
    let isRunning = isAlive && Platform.processStart(pid) == text.start
    return .process(
      pid, program: isRunning ? Platform.command(pid) : nil, isRunning: isRunning)
  }
}

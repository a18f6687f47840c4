#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// The file for traps: set before the handlers, and read by them.
nonisolated(unsafe) private var trapFile: Int32 = -1

extension System {
  /// Makes this process record a trap in a file and exit with success, so that its parent can tell
  /// what it was doing.
  static func noteTraps(in path: String) throws {
    trapFile = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    guard trapFile >= 0 else {
      throw ConformanceFailure("The kit could not write \(path) (errno \(errno)).")
    }
    for signal in [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGALRM] {
      setHandler(signal)
    }
  }

  /// The signal that ends a process that hangs.
  static let alarmSignal = SIGALRM

  /// Ends this process, as a trap does, unless it calls again within some seconds; 0 ends the
  /// watch.
  static func watch(seconds: UInt32) { _ = alarm(seconds) }
}

private func setHandler(_ number: Int32) {
  signal(number) { number in
    // Only async-signal-safe calls are allowed here.
    var text: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) = (
      0x73, 0x69, 0x67, 0x6E, 0x61, 0x6C, 0x20, UInt8(0x30 + number / 10),
      UInt8(0x30 + number % 10), 0x0A
    )
    _ = write(trapFile, &text, 10)
    _exit(0)
  }
}

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

/// Where a trap is noted: written before handlers are set, read by them.
nonisolated(unsafe) private var trapFile: Int32 = -1

extension System {
  /// Lets this process note a trap in a file, and end with success, so that whoever started it can
  /// tell what it was doing.
  static func noteTraps(in path: String) throws {
    trapFile = open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0o600)
    guard trapFile >= 0 else {
      throw ConformanceFailure("The kit could not write \(path) (errno \(errno)).")
    }
    for signal in [SIGSEGV, SIGBUS, SIGILL, SIGTRAP, SIGABRT, SIGFPE, SIGALRM] {
      setHandler(signal)
    }
  }

  /// The signal by which a process that was watched too long ends.
  static let alarmSignal = SIGALRM

  /// Ends this process, as a trap does, unless it asks again within some seconds; 0 for no longer.
  static func watch(seconds: UInt32) { _ = alarm(seconds) }
}

private func setHandler(_ number: Int32) {
  signal(number) { number in
    // Only calls that are safe in a handler.
    var text: (UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8, UInt8) = (
      0x73, 0x69, 0x67, 0x6E, 0x61, 0x6C, 0x20, UInt8(0x30 + number / 10),
      UInt8(0x30 + number % 10), 0x0A
    )
    _ = write(trapFile, &text, 10)
    _exit(0)
  }
}

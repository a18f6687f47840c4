internal import ConiferKeyValue

#if canImport(Darwin)
  internal import Darwin
#elseif canImport(Glibc)
  internal import Glibc
#elseif canImport(Musl)
  internal import Musl
#endif

extension System {
  /// The signal that cannot be caught.
  static let kill = SIGKILL

  /// Ends this process at once, without cleaning up.
  static func killSelf() -> Never {
    raise(SIGKILL)
    exitNow(1)
  }

  /// Ends this process without cleaning up.
  static func exitNow(_ code: Int32) -> Never { _exit(code) }

  /// Ends a process that a check started.
  static func end(_ pid: Int32?) {
    guard let pid, pid > 1 else { return }
    _ = sendSignal(pid, SIGKILL)
  }

  /// Waits ten milliseconds.
  static func pause() { usleep(10_000) }

  /// A thread that runs a closure which must not await.
  final class Thread: @unchecked Sendable {
    // Unchecked: `error` is written by the thread and read after it was joined, and `handle` is used by
    // whoever made the thread alone.
    private let body: @Sendable () throws -> Void
    private var error: (any Error)?
    private var handle: pthread_t?

    init(_ body: @escaping @Sendable () throws -> Void) throws {
      self.body = body
      #if canImport(Darwin)
        var made: pthread_t?
      #else
        var made = pthread_t()
      #endif
      let context = Unmanaged.passRetained(self).toOpaque()
      let code = pthread_create(&made, nil, threadMain, context)
      guard code == 0 else {
        Unmanaged<Thread>.fromOpaque(context).release()
        throw ConformanceFailure("The kit could not start a thread (\(code)).")
      }
      handle = made
    }

    fileprivate func run() {
      do { try body() } catch { self.error = error }
    }

    /// Waits for the thread's end and returns what it threw.
    func join() -> (any Error)? {
      if let handle { pthread_join(handle, nil) }
      handle = nil
      return error
    }
  }

  /// Whether a process of this number runs.
  static func isAlive(_ pid: Int32?) -> Bool {
    guard let pid, pid > 1 else { return false }
    return sendSignal(pid, 0) == 0
  }

  /// Forks a child that shares all open files; returns 0 in the child.
  static func fork() throws -> Int32 {
    // Swift hides the call, since few things are allowed in the child.
    guard let symbol = dlsym(nil, "fork") else {
      throw NotApplicable("the system has no fork")
    }
    let call = unsafeBitCast(symbol, to: (@convention(c) () -> Int32).self)
    let pid = call()
    if pid < 0 { throw ConformanceFailure("The kit could not fork (errno \(errno)).") }
    return pid
  }

  /// Waits for a child and returns its exit code, or 128 and the signal.
  static func wait(for pid: Int32) throws -> Int32 {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 {
      if errno != EINTR { throw ConformanceFailure("A child was lost (errno \(errno)).") }
    }
    return status & 0x7F == 0 ? (status >> 8) & 0xFF : 128 + status & 0x7F
  }

  /// Starts a program that sleeps for a minute and inherits open files.
  static func startSleeper() throws -> Int32 {
    var pid: pid_t = 0
    let arguments: [UnsafeMutablePointer<CChar>?] = [strdup("sleep"), strdup("60"), nil]
    defer { for argument in arguments { free(argument) } }
    let code = posix_spawn(&pid, "/bin/sleep", nil, nil, arguments, environ)
    guard code == 0 else { throw NotApplicable("/bin/sleep could not be started (\(code))") }
    return pid
  }
}

/// Outside of the type, where `kill` is the C library's function.
private func sendSignal(_ pid: Int32, _ signal: Int32) -> Int32 { kill(pid, signal) }

#if canImport(Darwin)
  private func threadMain(_ context: UnsafeMutableRawPointer) -> UnsafeMutableRawPointer? {
    Unmanaged<System.Thread>.fromOpaque(context).takeRetainedValue().run()
    return nil
  }
#else
  private func threadMain(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<System.Thread>.fromOpaque(context).takeRetainedValue().run()
    return nil
  }
#endif

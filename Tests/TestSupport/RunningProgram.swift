import Foundation
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A program in a process of its own, which has none of this process's files, and whose end is taken as soon as it comes.
///
/// Foundation's `Process` learns of an end by a descriptor that another program may have, which was started at the same
/// moment: whoever waits then waits for that one's end too, which may never come.
package final class RunningProgram: Sendable {
  /// How it ended.
  package enum End: Hashable, Sendable {
    case exited(Int32)
    case killed(signal: Int32)
    /// Somebody else has taken its end.
    case unknown
  }

  /// Where what it prints goes.
  package enum Output: Sendable {
    /// Where this process's goes.
    case shared
    /// To `read`.
    case read
    case nowhere
  }

  /// It could not be started, or did not do in time what was waited for.
  package struct Failure: Error, CustomStringConvertible {
    package let description: String

    package init(_ description: String) { self.description = description }
  }

  package let number: Int32
  private let input: FileHandle?
  private let output: FileHandle?
  private let ended = Mutex<End?>(nil)

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - path: the program's.
  ///   - arguments: without its name.
  ///   - environment: all of its variables; this process's when nil.
  ///   - takesInput: whether `write` gives it its input, which is empty otherwise.
  ///   - output: where what it prints goes; errors go where this process's do.
  package init(
    _ path: String, _ arguments: [String] = [], environment: [String: String]? = nil,
    takesInput: Bool = false, output kind: Output = .shared
  ) throws {
    #if canImport(Darwin)
      var files: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var files = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    posix_spawn_file_actions_init(&files)
    defer { posix_spawn_file_actions_destroy(&files) }
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    // Threads of the runtime block signals, which the program would never hear of.
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    let ends = try (takesInput ? Self.pair() : nil, kind == .read ? Self.pair() : nil)
    defer {
      if let ends = ends.0 { close(ends.other) }
      if let ends = ends.1 { close(ends.other) }
    }
    if let ends = ends.0 {
      posix_spawn_file_actions_adddup2(&files, ends.other, 0)
    } else {
      posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0)
    }
    switch kind {
    case .shared: posix_spawn_file_actions_adddup2(&files, 1, 1)
    case .read: posix_spawn_file_actions_adddup2(&files, ends.1?.other ?? 1, 1)
    case .nowhere: posix_spawn_file_actions_addopen(&files, 1, "/dev/null", O_WRONLY, 0)
    }
    posix_spawn_file_actions_adddup2(&files, 2, 2)
    #if canImport(Darwin)
      let flags = POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_CLOEXEC_DEFAULT
    #else
      let flags = POSIX_SPAWN_SETSIGMASK
      _ = closeFrom?(&files, 3)
    #endif
    posix_spawnattr_setflags(&attributes, Int16(flags))
    let words = ([path] + arguments).map { strdup($0) } + [nil]
    let variables =
      (environment ?? ProcessInfo.processInfo.environment).map { strdup("\($0.key)=\($0.value)") }
      + [nil]
    defer { for word in words + variables { free(word) } }
    var number: pid_t = 0
    let code = posix_spawn(&number, path, &files, &attributes, words, variables)
    self.number = number
    input = ends.0.map { FileHandle(fileDescriptor: $0.own, closeOnDealloc: true) }
    output = ends.1.map { FileHandle(fileDescriptor: $0.own, closeOnDealloc: true) }
    guard code == 0 else {
      throw Failure("\(path) cannot be started: \(String(cString: strerror(code))).")
    }
    // A process that has ended and that nobody has taken keeps exit tests from hearing of theirs.
    Thread.detachNewThread { [self] in takeEnd() }
  }

  /// Two ends that no other program gets, not even one that is started at this moment.
  private static func pair() throws -> (own: Int32, other: Int32) {
    var ends: [Int32] = [-1, -1]
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    #elseif canImport(Musl)
      let kind = SOCK_STREAM | SOCK_CLOEXEC
    #else
      let kind = SOCK_STREAM
    #endif
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw Failure("No pair of sockets can be made (errno \(errno)).")
    }
    #if canImport(Darwin)
      for end in ends {
        _ = fcntl(end, F_SETFD, FD_CLOEXEC)
        var yes: Int32 = 1
        setsockopt(end, SOL_SOCKET, SO_NOSIGPIPE, &yes, socklen_t(MemoryLayout<Int32>.size))
      }
    #endif
    return (ends[0], ends[1])
  }

  private func takeEnd() {
    var info = siginfo_t()
    while waitid(P_PID, id_t(number), &info, WEXITED | WNOWAIT) < 0, errno == EINTR {}
    // Its number may be another one's from then on, which no signal may reach.
    ended.withLock { end in
      var status: Int32 = 0
      guard waitpid(number, &status, WNOHANG) == number else { return end = .unknown }
      let signal = status & 0x7F
      end = signal == 0 ? .exited((status >> 8) & 0xFF) : .killed(signal: signal)
    }
  }

  // MARK: Input and output

  /// Gives it bytes to read.
  ///
  /// - Throws: when it has ended, or reads no more.
  package func write(_ bytes: some Sequence<UInt8>) throws {
    guard let input else { return }
    var rest = Array(bytes)[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes {
        send(input.fileDescriptor, $0.baseAddress, $0.count, withoutSignal)
      }
      if count > 0 { rest.removeFirst(count) }
      guard count > 0 || errno == EINTR else { throw Failure("A program takes no input.") }
    }
  }

  /// What it prints next; nothing once it prints no more. A thread waits for it.
  ///
  /// - Parameter seconds: how long it may be silent.
  package func read(within seconds: Int = 60) throws -> [UInt8] {
    guard let output else { return [] }
    var wanted = pollfd(fd: output.fileDescriptor, events: Int16(POLLIN), revents: 0)
    let deadline = ContinuousClock.now + .seconds(seconds)
    while true {
      let ready = poll(&wanted, 1, 1_000)
      if ready > 0 { return [UInt8](output.availableData) }
      guard ready == 0 || errno == EINTR, ContinuousClock.now < deadline else {
        throw Failure("A program said nothing for \(seconds) s.")
      }
    }
  }

  /// All that it prints until it ends.
  package func readToEnd() throws -> String {
    var text: [UInt8] = []
    while case let more = try read(), !more.isEmpty { text += more }
    return String(decoding: text, as: UTF8.self)
  }

  // MARK: Its end

  /// How it ended; nil while it runs.
  package var end: End? { ended.withLock { $0 } }

  /// Sends it a signal, unless it has ended.
  package func signal(_ signal: Int32) {
    ended.withLock { if $0 == nil { sendSignal(number, signal) } }
  }

  /// Waits for its end, which is brought about where it does not come. A thread waits.
  ///
  /// - Parameter seconds: how long it has to end by itself.
  /// - Returns: how it ended.
  @discardableResult
  package func waitForEnd(within seconds: Int = 60) -> End {
    let deadline = ContinuousClock.now + .seconds(seconds)
    while true {
      if let end { return end }
      if ContinuousClock.now >= deadline { signal(SIGKILL) }
      usleep(2_000)
    }
  }

  /// Ends it wherever it is.
  ///
  /// - Returns: whether it lived until then.
  @discardableResult
  package func kill() -> Bool {
    signal(SIGKILL)
    return waitForEnd() == .killed(signal: SIGKILL)
  }
}

/// Outside of the type, where the names are the C library's.
private func sendSignal(_ process: Int32, _ signal: Int32) { kill(process, signal) }

/// Whoever writes to a program that has ended is told by an error.
#if canImport(Glibc)
  private let withoutSignal = Int32(MSG_NOSIGNAL)
#elseif canImport(Musl)
  private let withoutSignal = MSG_NOSIGNAL
#else
  private let withoutSignal: Int32 = 0
#endif

#if !canImport(Darwin)
  private typealias CloseFrom =
    @convention(c) (
      UnsafeMutablePointer<posix_spawn_file_actions_t>, Int32
    ) -> Int32

  /// Has a program get none of the files from a number on. C libraries that have it show it not to every program.
  private let closeFrom = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np").map {
    unsafeBitCast($0, to: CloseFrom.self)
  }
#endif

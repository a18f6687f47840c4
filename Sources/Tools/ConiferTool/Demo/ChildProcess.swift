#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// A process of our own program whose output is read line by line and that may be killed.
final class ChildProcess {
  /// How a process ended.
  enum End: Equatable {
    case exited(Int32)
    case killed(signal: Int32)
  }

  /// The signal that no process can catch.
  static let killSignal = SIGKILL

  /// Whether a signal comes from somebody or from the system's limits, rather than from what the process did.
  static func isFromOutside(_ signal: Int32) -> Bool {
    [
      SIGHUP, SIGINT, SIGQUIT, SIGKILL, SIGPIPE, SIGALRM, SIGTERM, SIGXCPU, SIGXFSZ,
    ].contains(signal)
  }

  private let process: pid_t
  private let output: Int32
  private var pending: [UInt8] = []
  private var isAtEnd = false
  /// How it ended, once that was waited for: its number may be another process's then.
  private var end: End?

  /// Starts a program.
  ///
  /// - Parameters:
  ///   - arguments: without the program's name.
  ///   - program: its path; our own by default.
  init(_ arguments: [String], of program: String? = nil) throws(Failure) {
    let executable = if let program { program } else { try Self.executable() }
    // A pair of sockets is kept from other programs from the start; a pipe would be for a moment in one that is started then.
    var ends: [Int32] = [-1, -1]
    #if canImport(Glibc)
      let kind = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    #elseif canImport(Musl)
      let kind = SOCK_STREAM | SOCK_CLOEXEC
    #else
      let kind = SOCK_STREAM
    #endif
    guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
      throw Platform.failure("No pair of sockets can be made")
    }
    let (readEnd, writeEnd) = (ends[0], ends[1])
    defer { close(writeEnd) }
    #if canImport(Darwin)
      for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    #endif

    #if canImport(Darwin)
      var actions: posix_spawn_file_actions_t?
      var attributes: posix_spawnattr_t?
    #else
      var actions = posix_spawn_file_actions_t()
      var attributes = posix_spawnattr_t()
    #endif
    // Threads of the runtime block signals, and a process that is started there would never hear of them.
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var none = sigset_t()
    sigemptyset(&none)
    posix_spawnattr_setsigmask(&attributes, &none)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETSIGMASK))
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, writeEnd, Platform.standardOutput)

    let words = CStrings([executable] + arguments)
    let surroundings = CStrings(
      ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "ASAN_OPTIONS", "TSAN_OPTIONS"]
        .compactMap { name in Platform.environment(name).map { "\(name)=\($0)" } })
    var process: pid_t = 0
    let status = posix_spawn(
      &process, executable, &actions, &attributes, words.pointers, surroundings.pointers)
    guard status == 0 else {
      close(readEnd)
      throw Failure(
        "io", .io, "\(executable) cannot be started: \(String(cString: strerror(status))).")
    }
    self.process = process
    self.output = readEnd
  }

  deinit { close(output) }

  /// The number of the process.
  var number: Int32 { process }

  /// Kills a process of ours and waits for its end; `wait` still tells how it ended.
  static func killAndWait(_ process: Int32) {
    #if canImport(Darwin)
      _ = Darwin.kill(process, killSignal)
    #elseif canImport(Glibc)
      _ = Glibc.kill(process, killSignal)
    #elseif canImport(Musl)
      _ = Musl.kill(process, killSignal)
    #endif
    var info = siginfo_t()
    while waitid(P_PID, id_t(process), &info, WEXITED | WNOWAIT) != 0, errno == EINTR {}
  }

  /// The next whole line of output, or nil at its end; a cut last line is left out.
  ///
  /// - Parameter limit: how long to wait for more output; nil for as long as it takes.
  /// - Throws: also when the process was silent for that long.
  func line(within limit: Duration? = nil) throws(Failure) -> String? {
    while true {
      if let end = pending.firstIndex(of: UInt8(ascii: "\n")) {
        let line = String(decoding: pending[..<end], as: UTF8.self)
        pending.removeSubrange(...end)
        return line
      }
      if isAtEnd { return nil }
      if let limit, try !Platform.canRead(output, within: limit) {
        throw Failure("silent", .internal, "A process of the demo said nothing for \(limit).")
      }
      isAtEnd = try !Platform.read(output, atMost: 4096, into: &pending)
    }
  }

  /// Kills it at once, wherever it is.
  func kill() { signal(Self.killSignal) }

  /// Asks it to end.
  func terminate() { signal(SIGTERM) }

  /// Tells it to go on: SIGUSR1, which it waits for.
  func prompt() { signal(SIGUSR1) }

  private func signal(_ number: Int32) {
    guard end == nil else { return }
    #if canImport(Darwin)
      _ = Darwin.kill(process, number)
    #elseif canImport(Glibc)
      _ = Glibc.kill(process, number)
    #elseif canImport(Musl)
      _ = Musl.kill(process, number)
    #endif
  }

  /// Whether it has ended; `wait` still tells how.
  var hasEnded: Bool {
    if end != nil { return true }
    var info = siginfo_t()
    return waitid(P_PID, id_t(process), &info, WEXITED | WNOHANG | WNOWAIT) == 0
      && info.si_signo == SIGCHLD
  }

  /// Waits for its end.
  func wait() throws(Failure) -> End {
    if let end { return end }
    var status: Int32 = 0
    while waitpid(process, &status, 0) < 0 {
      guard errno == EINTR else { throw Platform.failure("Waiting for the process failed") }
    }
    let signal = status & 0x7F
    let end = signal == 0 ? End.exited((status >> 8) & 0xFF) : .killed(signal: signal)
    self.end = end
    return end
  }

  /// Where a file of the repository would be, seen from the running program upwards.
  static func neighbours(_ file: String) -> [String] {
    guard let executable = try? executable() else { return [] }
    var folders = executable.split(separator: "/").dropLast()
    var places: [String] = []
    while !folders.isEmpty {
      places.append("/" + folders.joined(separator: "/") + "/" + file)
      folders = folders.dropLast()
    }
    return places
  }

  /// The path of the running program.
  private static func executable() throws(Failure) -> String {
    var buffer = [CChar](repeating: 0, count: 4096)
    #if canImport(Darwin)
      var size = UInt32(buffer.count)
      guard _NSGetExecutablePath(&buffer, &size) == 0 else {
        throw Failure("io", .io, "The program's own path is not known.")
      }
      let count = strlen(buffer)
    #else
      let count = readlink("/proc/self/exe", &buffer, buffer.count - 1)
      guard count > 0 else { throw Platform.failure("The program's own path is not known") }
    #endif
    return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

/// A list of C strings that ends with nil, freed with its owner.
private final class CStrings {
  let pointers: [UnsafeMutablePointer<CChar>?]

  init(_ strings: [String]) { pointers = strings.map { strdup($0) } + [nil] }

  deinit { for pointer in pointers { free(pointer) } }
}

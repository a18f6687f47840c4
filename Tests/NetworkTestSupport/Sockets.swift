#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Darwin)
  import Darwin
#endif

/// Sockets of the loopback, as the C library has them.
package enum Sockets {
  package struct Failure: Error {}

  private static func withAddress<R>(
    _ port: Int, _ body: (UnsafeMutablePointer<sockaddr>, inout socklen_t) -> R
  ) -> R {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(port).bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    return withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, &length) }
    }
  }

  /// Programs that are started do not get it.
  private static func stream() -> Int32 {
    #if canImport(Glibc)
      socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    #elseif canImport(Musl)
      socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)
    #else
      keptFromChildren(socket(AF_INET, SOCK_STREAM, 0))
    #endif
  }

  /// A connection that a listening socket has taken, which programs that are started do not get; -1 when there is none.
  package static func accept(_ listening: Int32) -> Int32 {
    #if canImport(Glibc)
      keptFromChildren(Glibc.accept(listening, nil, nil))
    #elseif canImport(Musl)
      keptFromChildren(Musl.accept(listening, nil, nil))
    #else
      keptFromChildren(Darwin.accept(listening, nil, nil))
    #endif
  }

  private static func keptFromChildren(_ file: Int32) -> Int32 {
    if file >= 0 { _ = fcntl(file, F_SETFD, FD_CLOEXEC) }
    return file
  }

  /// A socket that has a port, at which nobody listens as long as it is open, and no other can.
  package static func bound() throws -> (file: Int32, port: Int) {
    let file = stream()
    let port = withAddress(0) { address, length -> Int in
      guard bind(file, address, length) == 0, getsockname(file, address, &length) == 0 else {
        return 0
      }
      return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
        Int(in_port_t(bigEndian: $0.pointee.sin_port))
      }
    }
    guard port > 0 else {
      close(file)
      throw Failure()
    }
    return (file, port)
  }

  /// Has a bound socket accept connections.
  package static func listen(_ file: Int32) throws {
    #if canImport(Glibc)
      let isListening = Glibc.listen(file, 16) == 0
    #elseif canImport(Musl)
      let isListening = Musl.listen(file, 16) == 0
    #else
      let isListening = Darwin.listen(file, 16) == 0
    #endif
    guard isListening else { throw Failure() }
  }

  /// A socket that accepts connections, and its port.
  package static func listen() throws -> (file: Int32, port: Int) {
    let (file, port) = try bound()
    try listen(file)
    return (file, port)
  }

  /// A port that nobody listens at.
  package static func freePort() throws -> Int {
    let (file, port) = try listen()
    close(file)
    return port
  }

  /// A connection to a port; -1 when nobody listens there.
  package static func connect(_ port: Int) -> Int32 {
    let file = stream()
    #if canImport(Glibc)
      let result = withAddress(port) { Glibc.connect(file, $0, $1) }
    #elseif canImport(Musl)
      let result = withAddress(port) { Musl.connect(file, $0, $1) }
    #else
      let result = withAddress(port) { Darwin.connect(file, $0, $1) }
    #endif
    guard result == 0 else {
      close(file)
      return -1
    }
    return file
  }

  /// Whether a listening socket can be ended for all processes that have it.
  package static var canEndListening: Bool {
    #if os(Linux)
      true
    #else
      false
    #endif
  }

  /// The files of this process that are sockets bound to a port of the loopback.
  package static func files(at port: Int) -> [Int32] { files(port, getsockname) }

  /// The files of this process that are connections to a port of the loopback.
  package static func files(to port: Int) -> [Int32] { files(port, getpeername) }

  private static func files(
    _ port: Int,
    _ name: (Int32, UnsafeMutablePointer<sockaddr>, UnsafeMutablePointer<socklen_t>) -> Int32
  ) -> [Int32] {
    open.filter { file in
      withAddress(0) { address, length in
        guard name(file, address, &length) == 0,
          address.pointee.sa_family == sa_family_t(AF_INET)
        else { return false }
        return address.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
          Int(in_port_t(bigEndian: $0.pointee.sin_port)) == port
        }
      }
    }
  }

  /// The open files of this process; the limit of their numbers may be a thousand million.
  private static var open: [Int32] {
    #if os(Linux)
      let directory = opendir("/proc/self/fd")
    #else
      let directory = opendir("/dev/fd")
    #endif
    guard let directory else { return [] }
    defer { closedir(directory) }
    var files: [Int32] = []
    while let entry = readdir(directory) {
      let name = withUnsafeBytes(of: entry.pointee.d_name) { $0.prefix { $0 != 0 } }
      if let file = Int32(String(decoding: name, as: UTF8.self)) { files.append(file) }
    }
    return files
  }

  /// Whether programs that this process starts do not get a file.
  package static func isKeptFromChildren(_ file: Int32) -> Bool {
    fcntl(file, F_GETFD) & FD_CLOEXEC != 0
  }

  /// Whether somebody listens at a port.
  package static func answers(_ port: Int) -> Bool {
    let file = connect(port)
    if file >= 0 { close(file) }
    return file >= 0
  }
}

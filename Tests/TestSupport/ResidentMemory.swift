#if canImport(Darwin)
  import Darwin
#elseif canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#endif

/// The memory that this process has from the system.
public enum ResidentMemory {
  /// The bytes that are resident now; nil where the system does not tell.
  public static var bytes: Int? {
    #if os(Linux)
      let file = open("/proc/self/statm", O_RDONLY)
      guard file >= 0 else { return nil }
      defer { close(file) }
      var text = [UInt8](repeating: 0, count: 256)
      let count = read(file, &text, text.count)
      guard count > 0 else { return nil }
      let words = text[..<count].split(separator: UInt8(ascii: " "))
      guard words.count > 1, let pages = Int(String(decoding: words[1], as: UTF8.self)) else {
        return nil
      }
      return pages * Int(sysconf(Int32(_SC_PAGESIZE)))
    #else
      return nil
    #endif
  }
}

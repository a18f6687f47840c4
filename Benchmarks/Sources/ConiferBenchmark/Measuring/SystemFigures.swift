import Foundation

/// The system's figures on this process and its files; zero where there are none.
enum SystemFigures {
  /// Bytes of memory that belong to no file, of this process.
  static var anonymousMemory: Int { status("RssAnon:") }
  /// The most memory that this process ever had in RAM, of files too.
  static var peakMemory: Int { status("VmHWM:") }

  private static func status(_ name: String) -> Int {
    for line in text("/proc/self/status").split(separator: "\n") where line.hasPrefix(name) {
      let number = line.dropFirst(name.count).split(whereSeparator: { $0 == " " || $0 == "\t" })
      return (number.first.flatMap { Int($0) } ?? 0) * 1024
    }
    return 0
  }

  /// Bytes that this process made the system send to a medium.
  static var sentToMedium: Int {
    for line in text("/proc/self/io").split(separator: "\n") where line.hasPrefix("write_bytes:") {
      return Int(line.dropFirst("write_bytes: ".count)) ?? 0
    }
    return 0
  }

  /// A file of the kind whose length is not known before it is read.
  static func text(_ path: String) -> String {
    guard let file = FileHandle(forReadingAtPath: path) else { return "" }
    defer { try? file.close() }
    return String(decoding: (try? file.readToEnd()) ?? Data(), as: UTF8.self)
  }

  /// Processor time of the whole machine and of this process, in seconds.
  static var processorTime: (machine: Double, own: Double) {
    let fields = text("/proc/stat").split(separator: "\n").first?.split(separator: " ") ?? []
    // User, nice, system; then idle and waiting, which are no work; then interrupts.
    let ticks = [1, 2, 3, 6, 7].reduce(0.0) { sum, index in
      sum + (index < fields.count ? Double(fields[index]) ?? 0 : 0)
    }
    return (ticks / 100, ownProcessorTime)
  }

  /// Processor time of this process, in seconds; costs next to nothing.
  static var ownProcessorTime: Double {
    var own = timespec()
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &own)
    return Double(own.tv_sec) + Double(own.tv_nsec) / 1e9
  }
}

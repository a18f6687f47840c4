import CPeers
import Foundation

/// The machine of a run, as far as it tells.
public struct Machine: Codable, Sendable {
  /// The processor's model and how many cores there are.
  public var processor: String
  /// Bytes of memory.
  public var memory: UInt64
  /// The operating system and its kernel.
  public var system: String
  /// The file system below the stores.
  public var fileSystem: String
  /// Microseconds that 256 appended bytes and their sync take: half of the calls at most so long, and
  /// 99 of 100.
  public var appendAndSync: [Double]
  /// Versions of the engines in C.
  public var engines: [String]
  /// How many processes wanted to run, on average of the last minute before the run.
  public var load: Double

  /// Describes this machine and tries the disk below a directory.
  static func describe(_ directory: String) -> Machine {
    let info = ProcessInfo.processInfo
    let cpu = SystemFigures.text("/proc/cpuinfo").split(separator: "\n")
      .first { $0.hasPrefix("model name") }?.split(separator: ":").last
    let model = cpu.map { $0.trimmingCharacters(in: .whitespaces) } ?? "unknown processor"
    let kernel = SystemFigures.text("/proc/sys/kernel/osrelease")
      .trimmingCharacters(in: .whitespacesAndNewlines)
    let load = SystemFigures.text("/proc/loadavg").split(separator: " ").first
    let kinds = [PEER_LMDB, PEER_SQLITE, PEER_LEVELDB].filter { peer_is_built_in($0) }
    return Machine(
      processor: "\(model), \(info.activeProcessorCount) cores", memory: info.physicalMemory,
      system: "\(info.operatingSystemVersionString) \(kernel)",
      fileSystem: fileSystem(directory), appendAndSync: appendAndSync(directory),
      engines: kinds.map { kind in
        let version = String(cString: peer_version(kind))
        return kind == PEER_SQLITE ? "SQLite \(version)" : version
      }, load: load.flatMap { Double($0) } ?? 0)
  }

  /// The longest mount point that begins the directory's path.
  private static func fileSystem(_ directory: String) -> String {
    let path = URL(fileURLWithPath: directory).resolvingSymlinksInPath().path
    let mounts = SystemFigures.text("/proc/mounts").split(separator: "\n").compactMap {
      line -> (point: String, kind: String)? in
      let fields = line.split(separator: " ")
      return fields.count > 2 ? (String(fields[1]), String(fields[2])) : nil
    }
    return mounts.filter {
      path == $0.point || path.hasPrefix($0.point == "/" ? "/" : $0.point + "/")
    }
    .max { $0.point.count < $1.point.count }?.kind ?? "unknown"
  }

  private static func appendAndSync(_ directory: String) -> [Double] {
    let path = "\(directory)/conifer-bench-\(UUID().uuidString)"
    guard FileManager.default.createFile(atPath: path, contents: nil),
      let file = FileHandle(forWritingAtPath: path)
    else { return [0, 0] }
    defer {
      try? file.close()
      try? FileManager.default.removeItem(atPath: path)
    }
    var watch = Stopwatch()
    let bytes = Data(repeating: 7, count: 256)
    for _ in 0..<200 {
      watch.timeNow {
        try? file.write(contentsOf: bytes)
        fdatasync(file.fileDescriptor)
      }
    }
    let figure = watch.time("", .W2, "")
    return [figure.p50 ?? 0, figure.p99 ?? 0]
  }
}

#if canImport(Darwin)
  private func fdatasync(_ file: Int32) { _ = fcntl(file, F_FULLFSYNC) }
#endif

import ConiferDocument
import ConiferStorage

/// The newest moment of the server's that the store knows, as the tree's metadata has it.
enum SnapshotVersion {
  static func bytes(_ time: ConiferDocument.Timestamp) -> [UInt8] {
    var record = TargetRecord()
    record.version = time
    return record.bytes
  }

  static func time(_ bytes: [UInt8]) -> ConiferDocument.Timestamp { TargetRecord(bytes).version }
}

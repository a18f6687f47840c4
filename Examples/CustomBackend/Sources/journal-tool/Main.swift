import ConiferStorage
import ConiferTool
import JournalStore

/// `conifer` with one more kind of store.
@main
enum Main {
  static func main() async { await Tool.main(registry: StorageRegistry(Tool.kinds + [.journal])) }
}

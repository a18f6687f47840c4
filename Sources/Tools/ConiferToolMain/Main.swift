import ConiferStorage
import ConiferTool

@main
enum Main {
  static func main() async { await Tool.main(registry: StorageRegistry(Tool.kinds)) }
}
